/** The common `mcpServers` configuration, as definitions. */
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { alice, callForText, startApplication } from "../step.ts";
import { createConnectionProvider, fromMcpServers, type McpSessionError } from "../../src/index.ts";
import { fromMcpServers as fromAllMcpServers } from "../../src/stdio.ts";

const url = "https://mcp.test/mcp";
const auth = () => "token";

/** What a configuration is refused with. */
function refusalOf(configuration: unknown, options: object = {}): McpSessionError {
  try {
    fromAllMcpServers(configuration, options);
  } catch (error) {
    return error as McpSessionError;
  }
  throw new Error("It was not refused.");
}

const optionsOf = (entry: object, options: object = {}) =>
  fromAllMcpServers({ mcpServers: { own: entry } }, options)["own"]!.options;

describe("a configuration", () => {
  test("of servers behind URLs works in a step", async () => {
    const server = await startNotebookServer();
    const configuration = {
      mcpServers: {
        notes: {
          type: "http",
          url: "${NOTES_URL}",
          headers: { Authorization: "Bearer ${env:NOTES_TOKEN}", "x-tenant": "${TENANT:-acme}" },
        },
      },
    };
    const connections = fromMcpServers(configuration, {
      variables: { NOTES_URL: server.url, NOTES_TOKEN: "secret-token" },
      overrides: { notes: { session: "stateful" } },
    });
    const application = startApplication(connections);
    const session = await application.step({}, async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "a" });
    });
    await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("a");
    });
    expect(server.sessionIds).toHaveLength(1);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: "Bearer secret-token", "x-tenant": "acme" });
    }
  });

  test("of a program and a server works in a step, with @durable-mcp/ai-sdk/stdio", async () => {
    const server = await startNotebookServer();
    const program = describingProgram("--folder=${FOLDER}");
    const cwd = realpathSync(tmpdir());
    const connections = fromAllMcpServers(
      {
        mcpServers: {
          notes: { url: server.url },
          program: { ...program, env: { DESCRIBED: "${TOKEN}" }, cwd: "${FOLDER}" },
        },
      },
      { variables: { FOLDER: cwd, TOKEN: "secret" } },
    );
    await using registry = createConnectionProvider({ connections }).create({ principal: alice });
    const tools = await registry.tools();
    expect(Object.keys(tools)).toEqual(expect.arrayContaining(["notes__list_notes"]));
    expect(JSON.parse(await callForText(tools, "program__describe"))).toMatchObject({
      args: [`--folder=${cwd}`],
      env: { DESCRIBED: "secret" },
      cwd,
    });
  });

  test("of a server that only knows HTTP+SSE works, too", async () => {
    const server = await startSseServer(405);
    const { provider } = startApplication(
      fromMcpServers({ mcpServers: { old: { type: "sse", url: server.url } } }),
    );
    await using registry = provider.create({ principal: alice });
    expect(Object.keys(await registry.tools())[0]).toMatch(/^old__/);
  });

  test.each([
    ["mcpServers, beside what else a file has", { mcpServers: { own: { url } }, theme: "dark" }],
    ["servers", { inputs: [], servers: { own: { type: "http", url } } }],
  ])("has %s", (_, configuration) => {
    const { own, ...others } = fromMcpServers(configuration);
    expect(own).toMatchObject({ type: "mcp-client", options: { url } });
    expect(others).toEqual({});
  });

  test.each<[string, object, object]>([
    ["type sse", { type: "sse", url }, { url }],
    ["type streamable-http", { type: "streamable-http", url }, { url }],
    ["type stdio", { type: "stdio", command: "a", args: [] }, { command: "a", args: [] }],
    ["description", { url, description: "Notes." }, { description: "Notes." }],
    ["no description", { url }, { description: 'Tools of the MCP server "own".' }],
    ["what is about approvals", { url, alwaysAllow: ["a"], autoApprove: [] }, { url }],
  ])("may have %s", (_, entry, options) => {
    expect(optionsOf(entry)).toMatchObject(options);
  });

  test("leaves out what is off", () => {
    const servers = { on: { url, disabled: false }, off: { command: "x", disabled: true } };
    expect(fromMcpServers({ servers })).toEqual({ on: expect.anything() });
  });
});

describe("overrides", () => {
  test("stand in the place of the entry's own, whose variables are not needed then", () => {
    const entry = { url, headers: { authorization: "${input:token}" } };
    const overrides = { own: { auth, headers: {}, session: "stateful", description: undefined } };
    expect(optionsOf(entry, { overrides })).toEqual({
      ...{ url, auth, headers: {}, session: "stateful" },
      description: 'Tools of the MCP server "own".',
    });
  });
});

describe("variables", () => {
  test("may be the environment itself", () => {
    const options = optionsOf({ url, headers: { a: "${PATH}" } }, { variables: process.env });
    expect(options).toMatchObject({ headers: { a: process.env["PATH"] } });
  });

  test.each<[string, Record<string, string | undefined>, string]>([
    ["${A}", { A: "1" }, "1"],
    ["${env:A}-${A}", { A: "1" }, "1-1"],
    ["${A:-x}", { A: "1" }, "1"],
    ["${A:-x y}", {}, "x y"],
    ["${A:-}", { A: "" }, ""],
    ["${input:key-1}", { "input:key-1": "1" }, "1"],
    ["${A}", { A: "${B}$&" }, "${B}$&"],
    ["pa$word $1", {}, "pa$word $1"],
  ])("%s of %j is %j", (value, variables, expected) => {
    expect(optionsOf({ url, headers: { "x-a": value } }, { variables })).toMatchObject({
      headers: { "x-a": expected },
    });
  });

  test("are none of the process, unless they are given", () => {
    expect(refusalOf({ servers: { own: { url: "${PATH}" } } }).data.field).toBe("servers.own.url");
  });

  test.each<[string, object, string, RegExp]>([
    ["missing", { url, headers: { "x-a": "${A}" } }, "headers.x-a", /needs the variable A/],
    ["empty", { url, headers: { "x-a": "${EMPTY}" } }, "headers.x-a", /EMPTY, which is missing or/],
    ["undefined", { url: "${NONE}/mcp" }, "url", /needs the variable NONE/],
    ["inherited", { url: "${constructor}" }, "url", /needs the variable constructor/],
    ["in env", { command: "a", env: { A: "${env:A}" } }, "env.A", /needs the variable A/],
    ["in args", { command: "a", args: ["-v", "${A}"] }, "args[1]", /needs the variable A/],
    ["of an editor", { command: "${workspaceFolder}/a" }, "command", /variable workspaceFolder/],
    ["without a name", { url: "${}" }, "url", /without a usable name/],
  ])("that are %s are an error that names entry and variable", (_, entry, field, reason) => {
    const variables = { EMPTY: "", NONE: undefined, SECRET: "s3cr3t" };
    const { code, data, message } = refusalOf({ mcpServers: { own: entry } }, { variables });
    expect({ code, field: data.field }).toEqual({
      code: "CONNECTION_INVALID",
      field: `mcpServers.own.${field}`,
    });
    expect(message).toMatch(reason);
    expect(message).toContain(`mcpServers.own.${field}`);
    expect(message).not.toContain("s3cr3t");
  });
});

describe("an error names the entry and the field", () => {
  const wrong: Record<string, [entry: unknown, field: string, fix: RegExp]> = {
    "an entry that is none": [5, "", /must be an object/],
    "neither url nor command": [{}, ".url", /missing, or a command/],
    "a url that is none": [{ url: "mcp.test" }, ".url", /absolute http/],
    "a url under another name": [{ serverUrl: "x" }, ".serverUrl", /is not known here/],
    "a url and a command": [{ url, command: "a" }, ".url", /is not known here/],
    "credentials in a url": [{ url: "https://a:s3cr3t@mcp.test" }, ".url", /use auth or headers/],
    "a header that is none": [{ url, headers: { a: "s3cr3t\n\nx" } }, ".headers.a", /valid in a/],
    "a header that is no text": [{ url, headers: { a: 5 } }, ".headers.a", /must be a string/],
    "args that are no list": [{ command: "a", args: "s3cr3t" }, ".args", /must be a list/],
    "an unknown type": [{ url, type: "ws" }, ".type", /"http" or "sse" beside a url/],
    "another type": [{ url, type: "stdio" }, ".type", /beside a url/],
    "a time with an unknown unit": [{ url, timeout: 60 }, ".timeout", /option .* in overrides/],
    "a filter of tools": [{ url, includeTools: ["a"] }, ".includeTools", /option .* in overrides/],
    "an unknown field": [{ url, header: {} }, ".header", /name it in ignore/],
  };
  test.each(Object.entries(wrong))("%s", (_, [entry, field, fix]) => {
    const { code, data, message } = refusalOf({ mcpServers: { "my-own": entry } });
    expect({ code, field: data.field }).toEqual({
      code: "CONNECTION_INVALID",
      field: `mcpServers.my-own${field}`,
    });
    expect(message).toMatch(fix);
    expect(message.startsWith(`mcpServers.my-own${field}`)).toBe(true);
    expect(message).not.toContain("s3cr3t");
  });

  test.each<[unknown, object, string, RegExp]>([
    ["{}", {}, "mcpServers", /JSON.parse/],
    [undefined, {}, "mcpServers", /must be an object/],
    [{ mcpServers: [] }, {}, "mcpServers", /an entry for each server/],
    [
      { servers: { own: { url } } },
      { overrides: { owm: {} } },
      "overrides.owm",
      /of no entry.* own/,
    ],
    [
      { servers: { own: { url } } },
      { overrides: { own: { urll: 1 } } },
      "overrides.own.urll",
      /mean url/,
    ],
    [
      { servers: { own: { url } } },
      { overrides: { own: { session: 1 } } },
      "overrides.own.session",
      /stateful/,
    ],
    [{ servers: { own: { url } } }, { variables: { A: 5 } }, "variables.A", /must be a string/],
    [{ servers: { own: { url } } }, { env: {} }, "env", /Known: variables/],
  ])("%j with %j", (configuration, options, field, fix) => {
    const { code, data, message } = refusalOf(configuration, options);
    expect({ code, field: data.field }).toEqual({ code: "CONNECTION_INVALID", field });
    expect(message).toMatch(fix);
  });

  test("a command where there may be no Node", () => {
    expect(() => fromMcpServers({ mcpServers: { memory: { command: "npx" } } })).toThrow(
      expect.objectContaining({
        data: { field: "mcpServers.memory.command" },
        message: expect.stringContaining("from the entry /stdio"),
      }),
    );
  });

  test("but not one that is left aside", () => {
    const ignore = ["timeout", "icon"];
    expect(optionsOf({ url, timeout: 60, icon: "a.png" }, { ignore })).toMatchObject({ url });
  });
});
