import { expect, test } from "vitest";
import { connectionsModule, defineForCommand, defineForUrl, moduleOf } from "./definition.ts";

const moduleForUrl = (...given: Parameters<typeof defineForUrl>) =>
  moduleOf(defineForUrl(...given));

const input = {
  verdict: { isUsable: true, sentences: [], session: "stateful" },
  server: { name: "notes-mcp-server" },
  entry: {},
  scrub: String,
} as const;

test("a definition has the options of the verdict", () => {
  expect(moduleForUrl(new URL("https://mcp.example/mcp"), input)).toBe(
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
  expect(moduleForUrl(url, { ...input, verdict })).toContain("  auth: oauth,");
  const text = moduleForUrl(url, {
    ...{ ...input, verdict },
    entry: { headers: { "x-key": "${KEY}", Authorization: "Bearer ${env:TOKEN}" } },
  });
  expect(text).toContain('  auth: () => process.env["TOKEN"] ?? "",');
  expect(text).toContain('    "x-key": () => process.env["KEY"] ?? "",');
  expect(text).not.toContain("oauth");
});

test.each([
  "https://mcp.example/s/0123456789abcdef0123/mcp",
  "https://mcp.example/mcp?key=of-mine",
])("what may be secret in %s is not repeated", (url) => {
  const text = moduleForUrl(new URL(url), input);
  expect(text).not.toMatch(/0123456789abcdef|of-mine/);
  expect(text).toContain("fill it in");
});

test("the words of a server cannot leave their place", () => {
  const name = '"); process.exit(1); ("';
  const text = moduleForUrl(new URL("https://mcp.example/mcp"), { ...input, server: { name } });
  expect(text).toContain(`description: ${JSON.stringify(name)}`);
  expect(text).toContain("export const processExit1 =");
});

test("a program is defined with its arguments and the names of its variables", () => {
  const words = ["npx", "-y", "some-server"];
  const [command, ...args] = words;
  const entry = { command, args, env: { API_KEY: "${API_KEY}" } };
  const given = { ...input, entry, server: { name: "1 2 3" } };
  expect(moduleOf(defineForCommand(words, given))).toBe(
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
  const text = moduleForUrl(new URL("https://mcp.example/mcp"), { ...input, server });
  expect(text).toContain(String.raw`description: "\u009b2J\u202eNotes",`);
});

test("connections stand in one object, under names that connections may have", () => {
  const url = new URL("https://mcp.example/mcp");
  const names = ["my-notes", "My Notes", "__proto__", "notes", "Notes"];
  const text = connectionsModule(names.map((name) => defineForUrl(url, { ...input, name })));
  expect(text.match(/^import/gm)).toHaveLength(1);
  const keys = [...text.matchAll(/^ {2}(.+): defineMcp/gm)].map(([, key]) => key);
  expect(keys).toEqual(['"my-notes"', "myNotes", "proto", "notes", '"notes-2"']);
});
