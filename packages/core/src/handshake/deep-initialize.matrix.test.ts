import { describe, expect, test } from "vitest";
import { initialize, probe } from "../../test/handshake-messages.ts";
import { outcomeOf } from "../../test/hostile-server.ts";
import { initializeResult, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const result = (member: string, value: string) =>
  `${JSON.stringify(initializeResult).slice(0, -1)},"${member}":${value}}`;

const call = { jsonrpc: "2.0", id: 0, method: "tools/call", params: { name: "buy" } };

const version = -32022;

/** What servers answer to `initialize`, as the rest of a JSON-RPC message. */
const answers: [name: string, rest: (value: string) => string][] = [
  ["capabilities", (value) => `"result":${result("capabilities", value)}`],
  ["another member of the result", (value) => `"result":${result("x", value)}`],
  ["a result of another kind", (value) => `"result":${value}`],
  ["an error", (value) => `"error":{"code":-1,"message":"no","data":${value}}`],
  [
    "the versions of an error",
    (value) => `"error":{"code":${version},"message":"no","data":{"supported":[${value}]}}`,
  ],
];
const values: [name: string, value: string][] = [
  ["objects", deep(20_000)],
  ["lists", `${"[".repeat(20_000)}${"]".repeat(20_000)}`],
  ["objects that can barely be printed", deep(5_000)],
  ["an object that is no text", '{"toString":1,"toJSON":1}'],
];

const usual = ["CONNECTION_UNAVAILABLE", "error", "refused", "result"];

describe.each(values)("an initialize answer with %s", (kind, value) => {
  test.each(answers)("in %s", async (_, rest) => {
    for (const message of [initialize, { ...probe, id: 0 }, call]) {
      for (const headers of [{ "mcp-session-id": "secret-session" }, {}]) {
        for (const status of [200, 400]) {
          const server = await startMcpServer((request, response, next) => {
            if (request.message?.method !== "initialize") return next();
            const type = { "content-type": "application/json" };
            response.writeHead(status, { ...type, ...headers });
            response.end(`{"jsonrpc":"2.0","id":"${request.message.id}",${rest(value)}}`);
          });
          const { seen } = await outcomeOf(startStep(server).client.post(message));
          const isDeep = kind === "objects" || kind === "lists";
          expect(isDeep && status === 200 ? ["CONNECTION_UNAVAILABLE"] : usual).toContain(seen);
        }
      }
    }
  });
});

test("a deep list of tools is no answer, and is not kept", async () => {
  const server = await startMcpServer();
  let schema = `{"type":"object","x":${deep(20_000)}}`;
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/list") return next();
    response.writeHead(200, { "content-type": "application/json" });
    const list = `{"tools":[{"name":"a","inputSchema":${schema}}]}`;
    response.end(`{"jsonrpc":"2.0","id":"${message.id}","result":${list}}`);
  });
  const { client } = startStep(server, { snapshot: await saveSession(server), now: () => 1 });
  const list = { jsonrpc: "2.0", id: 0, method: "tools/list" };
  for (const seen of ["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "result", "result"]) {
    if (seen === "result") schema = "{}";
    expect((await outcomeOf(client.post(list))).seen).toBe(seen);
  }
});
