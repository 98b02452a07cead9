import assert from "node:assert/strict";
import type { McpRequest } from "../message.ts";

/** How much was sent. What is left out may be any number. */
export interface SentCounts {
  /** `tools/call`. */
  readonly calls?: number | undefined;
  /** `initialize`. */
  readonly handshakes?: number | undefined;
  /** HTTP requests of any kind, those that end sessions too. */
  readonly requests?: number | undefined;
}

/**
 * Fails unless a step, or the clients of a faulty server, sent this much.
 *
 * @example
 * expectSent(await runStep(step), { calls: 1, requests: 1 });
 * @throws {AssertionError}
 */
export function expectSent(
  subject: { readonly sent: readonly McpRequest[] } | { readonly requests: readonly McpRequest[] },
  expected: SentCounts,
): void {
  const all = "sent" in subject ? subject.sent : subject.requests;
  const of = (method: string) => all.filter(({ rpcMethod }) => rpcMethod === method).length;
  const counts = { calls: of("tools/call"), handshakes: of("initialize"), requests: all.length };
  const actual = Object.fromEntries(
    Object.keys(expected).map((name) => [name, counts[name as keyof SentCounts]]),
  );
  const log = all.map(({ httpMethod, rpcMethod = httpMethod, tool }) =>
    [rpcMethod, tool].filter(Boolean).join(" "),
  );
  compare(actual, expected, `: ${log.join(", ")}`);
}

/**
 * Fails unless exactly this was done at a server, however often it was asked: how often, by tool.
 *
 * @example
 * expectDone(server, { order: 1 });
 * @throws {AssertionError}
 */
export function expectDone(
  { ledger }: { readonly ledger: readonly { readonly tool: string }[] },
  expected: Readonly<Record<string, number>>,
): void {
  const done: Record<string, number> = {};
  for (const { tool } of ledger) done[tool] = (done[tool] ?? 0) + 1;
  compare(done, expected);
}

function compare(actual: object, expected: object, more = ""): void {
  const told = `expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`;
  assert.deepEqual(actual, { ...expected }, told + more);
}
