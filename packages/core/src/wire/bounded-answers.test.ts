import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startHttpServer } from "../../test/http-server.ts";
import { editAnswer } from "./read-answer.ts";

const answer = async (body: string | Uint8Array, headers: Record<string, string>) => {
  const server = await startHttpServer((_, response) => {
    response.writeHead(200, headers).end(body);
  });
  const response = await fetch(server.origin, { method: "POST", body: "{}" });
  return await editAnswer(response, undefined, 1_000).text();
};

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

test.each([
  ["a body of JSON", "x".repeat(1_001), json],
  [
    "one that was compressed",
    gzipSync("x".repeat(100_000)),
    { ...json, "content-encoding": "gzip" },
  ],
  ["one line of an event", `data: ${"x".repeat(1_001)}`, events],
  ["many lines of an event", "data: x\n".repeat(200), events],
])("breaks off %s that is too large", async (_, body, headers) => {
  await expect(answer(body, headers)).rejects.toMatchObject({
    code: "OUTCOME_UNKNOWN",
    message: expect.stringContaining("more than 1000 bytes"),
  });
});

test.each([
  ["a body of JSON", "x".repeat(1_000), json],
  ["a long stream of short events", `data: ${"x".repeat(100)}\n\n`.repeat(100), events],
])("leaves %s as it is", async (_, body, headers) => {
  expect(await answer(body, headers)).toBe(body);
});
