import { expect, test } from "vitest";
import { defineForCommand, defineForUrl } from "./definition.ts";

const input = {
  verdict: { isUsable: true, sentences: [], session: "stateful" },
  server: { name: "notes-mcp-server" },
  headerVariables: {},
} as const;

test("a definition has the options of the verdict", () => {
  expect(defineForUrl(new URL("https://mcp.example/mcp"), input)).toBe(
    `import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";

export const notes = defineMcpClientConnection({
  url: "https://mcp.example/mcp",
  description: "notes-mcp-server", // for people, and in prompts
  session: "stateful",
});`,
  );
});

test("credentials are read from the variables that the probe read, and a token given stands in for a sign-in", () => {
  const verdict = { isUsable: false, sentences: [], auth: "oauth" } as const;
  const url = new URL("https://mcp.example/mcp");
  expect(defineForUrl(url, { ...input, verdict })).toContain("  auth: oauth,");
  const text = defineForUrl(url, {
    ...{ ...input, verdict, headerVariables: { "x-key": "KEY" }, bearerVariable: "TOKEN" },
  });
  expect(text).toContain('  auth: () => process.env["TOKEN"] ?? "",');
  expect(text).toContain('    "x-key": () => process.env["KEY"] ?? "",');
  expect(text).not.toContain("oauth");
});

test.each([
  "https://mcp.example/s/0123456789abcdef0123/mcp",
  "https://mcp.example/mcp?key=of-mine",
])("what may be secret in %s is not repeated", (url) => {
  const text = defineForUrl(new URL(url), input);
  expect(text).not.toMatch(/0123456789abcdef|of-mine/);
  expect(text).toContain("fill it in");
});

test("the words of a server cannot leave their place", () => {
  const name = '"); process.exit(1); ("';
  const text = defineForUrl(new URL("https://mcp.example/mcp"), { ...input, server: { name } });
  expect(text).toContain(`description: ${JSON.stringify(name)}`);
  expect(text).toContain("export const processExit1 =");
});

test("a program is defined with its arguments and the names of its variables", () => {
  const options = { server: { name: "1 2 3" }, variables: ["API_KEY"] };
  expect(defineForCommand(["npx", "-y", "some-server"], options)).toBe(
    `import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";

export const server = defineMcpStdioConnection({
  command: "npx",
  args: ["-y", "some-server"],
  description: "1 2 3", // for people, and in prompts
  env: {
    API_KEY: () => process.env["API_KEY"] ?? "",
  },
});`,
  );
});

test("what a terminal obeys is pasted as escapes, which say the same", () => {
  const server = { name: "notes", title: "\u009b2J\u202eNotes" };
  const text = defineForUrl(new URL("https://mcp.example/mcp"), { ...input, server });
  expect(text).toContain(String.raw`description: "\u009b2J\u202eNotes",`);
});
