import { McpSessionError } from "@durable-mcp/core";
import type { OpenClient } from "../clients/as-they-come.ts";

/** What became of a call, for its caller. */
export type CallOutcome =
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "failed"; readonly message: string }
  /** Neither an answer nor an error within `patienceMs`. */
  | { readonly kind: "hung" };

const patienceMs = 10_000;

/**
 * Calls `echo`, which answers at once.
 *
 * @param together how many calls the server waits for before it answers
 */
export async function callEcho(
  client: OpenClient,
  text: string,
  together = 1,
): Promise<CallOutcome> {
  const waited = Promise.withResolvers<CallOutcome>();
  const timer = setTimeout(() => waited.resolve({ kind: "hung" }), patienceMs);
  const called = client.call("echo", { text, together }).then(readResult, readError);
  const outcome = await Promise.race([called, waited.promise]);
  clearTimeout(timer);
  return outcome;
}

function readResult(result: unknown): CallOutcome {
  const json = typeof result === "string" ? result : JSON.stringify(result);
  const isError = /"isError":true|"error":true/.test(json);
  const [, text = json] = /"text":"((?:[^"\\]|\\.)*)"/.exec(json) ?? [];
  return isError ? { kind: "failed", message: text } : { kind: "answered", text };
}

function readError(error: unknown): CallOutcome {
  const message = McpSessionError.isInstance(error) ? error.code : (error as Error).message;
  return { kind: "failed", message };
}
