import { describe, expect, test } from "vitest";
import {
  callHostile,
  type HostileAnswer,
  watchUnhandledRejections,
} from "../../test/hostile-server.ts";

watchUnhandledRejections();

const json = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, result: {} });

/** Sends these lines, and what comes after them, past Node's own checks. */
const raw =
  (lines: (body: string) => string[], after = ""): HostileAnswer =>
  (response, id) => {
    const body = json(id);
    response.socket?.end(`${lines(body).join("\r\n")}\r\n\r\n${body}${after}`, "latin1");
  };
const ok = "HTTP/1.1 200 OK";
const type = "content-type: application/json";
const length = (body: string) => `content-length: ${body.length}`;

/** Answers whose head or framing is wrong, and what the client sees: "rejected" is `fetch`'s own error. */
const answers: [name: string, answer: HostileAnswer, seen: string][] = [
  [
    "ten thousand headers",
    raw((body) => [
      ok,
      type,
      length(body),
      ...Array.from({ length: 10_000 }, (_, n) => `x-${n}: ${n}`),
    ]),
    "OUTCOME_UNKNOWN",
  ],
  [
    "a header of 100 KB",
    raw((body) => [ok, type, length(body), `x-a: ${"a".repeat(100_000)}`]),
    "OUTCOME_UNKNOWN",
  ],
  [
    "two content types",
    raw((body) => [ok, type, "content-type: text/html", length(body)]),
    "unanswered",
  ],
  [
    "a length that is too large",
    raw((body) => [ok, type, `content-length: ${body.length + 9}`]),
    "OUTCOME_UNKNOWN",
  ],
  [
    "a length that is too small",
    raw((body) => [ok, type, `content-length: ${body.length - 9}`]),
    "OUTCOME_UNKNOWN",
  ],
  [
    "an encoding that it has not",
    raw((body) => [ok, type, length(body), "content-encoding: gzip"]),
    "OUTCOME_UNKNOWN",
  ],
  ["chunks that are none", raw(() => [ok, type, "transfer-encoding: chunked"]), "OUTCOME_UNKNOWN"],
  [
    "an interim answer before it",
    raw((body) => ["HTTP/1.1 103 Early Hints", "link: </a>", "", ok, type, length(body)]),
    "result",
  ],
  ["status 600", raw((body) => ["HTTP/1.1 600 Odd", type, length(body)]), "rejected"],
  ["no status", raw(() => ["nonsense"]), "OUTCOME_UNKNOWN"],
];

describe("an answer with", () => {
  test.each(answers)("%s", async (_, answer, seen) => {
    const outcome = await callHostile(answer);
    expect(outcome.seen).toBe(seen);
  });
});
