import { describe, expect, test } from "vitest";
import { startSession } from "../../test/replicas.ts";

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const levels = 20_000;
const note = (method: string, params: string) =>
  `{"jsonrpc":"2.0","method":"notifications/${method}","params":${params}}`;
const request = (method: string, params: string, id = '"x"') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
const long = JSON.stringify("x".repeat(100_000));

/** Bodies that a client with a session may send. */
const bodies: Record<string, string> = {
  "a deep call": request("tools/call", `{"name":"add","arguments":${deep(levels)}}`),
  "a deep initialize": request("initialize", `{"protocolVersion":${deep(levels)}}`),
  "an initialize with deep capabilities": request(
    "initialize",
    `{"protocolVersion":"2025-11-25","clientInfo":{"name":"n","version":"1"},"capabilities":{"experimental":${deep(levels)}}}`,
  ),
  "a deep notification": note("progress", deep(levels)),
  "deep settings": request("logging/setLevel", `{"level":${deep(levels)}}`),
  "a deep subscription": request("resources/subscribe", `{"uri":${deep(levels)}}`),
  "a deep batch": `[${deep(levels)}]`,
  "a deep list": `${"[".repeat(levels)}${"]".repeat(levels)}`,
  "a deep answer for another process": `{"jsonrpc":"2.0","id":"other.1","result":${deep(levels)}}`,
  "a deep id": request("ping", "{}", deep(levels)),
  "an id with a toString of its own": request("ping", "{}", '{"toString":1}'),
  "an id that is null": request("ping", "{}", "null"),
  "an id that is a list": request("ping", "{}", "[1]"),
  "a long id": request("ping", "{}", long),
  "cancels with a deep id": note("cancelled", `{"requestId":${deep(levels)}}`),
  "cancels with an odd id": note("cancelled", '{"requestId":{"toString":1}}'),
  "cancels with a list": note("cancelled", '{"requestId":[1]}'),
  "cancels with a long id": note("cancelled", `{"requestId":${long}}`),
  "cancels without params": '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
  "progress with an odd token": note("progress", '{"progressToken":{"toString":1},"progress":1}'),
  "progress with a long token": note("progress", `{"progressToken":${long},"progress":1}`),
  "progress beyond numbers": note("progress", '{"progressToken":1e400,"progress":1e400}'),
  "odd settings": request("logging/setLevel", '{"level":{"toString":1}}'),
  "an odd subscription": request("resources/subscribe", '{"uri":{"toString":1}}'),
  "params that are a list": request("tools/call", "[1]"),
  "params that are null": request("tools/call", "null"),
  "an odd _meta": request("tools/call", '{"name":"list","_meta":{"progressToken":{"toString":1}}}'),
  "a _meta that is null": request("tools/call", '{"name":"list","_meta":null}'),
  "a method that is no text": '{"jsonrpc":"2.0","id":1,"method":{"toString":1}}',
  __proto__: '{"__proto__":{"polluted":1},"jsonrpc":"2.0","method":"x","toString":1}',
  "a batch of nothing": "[null,1,[],{}]",
  "an empty batch": "[]",
  "half a surrogate": request("tools/call", '{"name":"add","arguments":{"text":"\\ud800"}}'),
  null: "null",
  "a number": "1e400",
};

describe.each(["sse", "json"] as const)("answers as %s:", (responseFormat) => {
  test.each(Object.entries(bodies))("a client that sends %s hurts nobody", async (_, body) => {
    const { client, id, ...replicas } = await startSession({ responseFormat });
    for (const session of [id, undefined]) {
      const headers = session === undefined ? {} : { "mcp-session-id": session };
      const response = await client.send("POST", headers, body);
      expect(response.status).toBeLessThan(500);
      await response.body?.cancel();
    }
    expect(await client.call(id, "add", { text: "a" })).toMatchObject({ status: 200 });
    expect(replicas.events.filter(({ type }) => type === "failed")).toEqual([]);
    expect(Object.prototype).not.toHaveProperty("polluted");
    const { records } = await replicas.store.list({ limit: 100 });
    expect(Math.max(...records.map(({ key }) => key.length))).toBeLessThan(1_000);
  });
});
