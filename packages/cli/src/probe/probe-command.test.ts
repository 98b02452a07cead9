import { expect, test } from "vitest";
import { probeCommand } from "./probe-command.ts";
import { judgeCommand } from "./verdict.ts";

const program = `
const answers = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "files", version: "1" },
  },
  "tools/list": { tools: [{ name: "read", inputSchema: { type: "object" } }] },
};
console.log("Listening");
process.stdin.on("data", (chunk) => {
  for (const line of String(chunk).split("\\n").filter(Boolean)) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] }));
  }
});
`;

const probe = (words: readonly string[], env: Record<string, string> = {}) =>
  probeCommand({
    words,
    env,
    limits: { requestMs: 5_000, watchMs: 100 },
    signal: new AbortController().signal,
    onStart: () => undefined,
  });

test("a program is asked, ended, and told that its words do not belong on stdout", async () => {
  const { facts, rows } = await probe([process.execPath, "-e", program]);
  expect(facts).toMatchObject({
    server: { name: "files" },
    handshake: { version: "2025-06-18" },
    tools: { names: ["read"] },
  });
  expect(rows.map(({ check, outcome }) => `${check}: ${outcome}`)).toEqual([
    "server: ok",
    "tools: ok",
    "stdout: warning",
  ]);
  expect(judgeCommand(facts).isUsable).toBe(true);
});

test("a program that ends says why, without its secrets", async () => {
  const code = 'console.error("bad key", process.env.API_KEY); process.exit(3)';
  const { facts, rows } = await probe([process.execPath, "-e", code], { API_KEY: "key-of-mine" });
  expect(rows).toEqual([expect.objectContaining({ check: "server", outcome: "failed" })]);
  expect(rows[0]?.says).toMatch(/exit code 3.*bad key.*--env NAME/s);
  expect(rows[0]?.says).not.toContain("key-of-mine");
  expect(judgeCommand(facts).isUsable).toBe(false);
});

test("a program that is not there is named as such", async () => {
  const { rows } = await probe(["no-such-program-here"]);
  expect(rows[0]?.says).toContain("there is no command no-such-program-here");
});
