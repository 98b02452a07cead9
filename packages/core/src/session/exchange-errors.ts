import { McpSessionError } from "../base/mcp-session-error.ts";

/** What a request that was not answered fails with. */
export function createExchangeErrors({
  url,
  answerTimeoutMs,
}: {
  url: URL;
  answerTimeoutMs: number;
}) {
  /** The session is gone, and the application is to say what becomes of the request. */
  const notSentAgain = (method: string, loss: "definite" | "probable", status?: number) =>
    loss === "definite"
      ? new McpSessionError(
          "SESSION_LOST",
          `${method} at ${url.origin}: the server no longer knows the session, and what it held for it is gone. The request was not carried out and not sent again.`,
          { data: { method, origin: url.origin, status } },
        )
      : new McpSessionError(
          "OUTCOME_UNKNOWN",
          `${method} at ${url.origin}: the server refused as if it had lost the session, and what it held for it is gone. Whether the request was carried out is unknown, so it was not sent again; check first.`,
          { data: { method, origin: url.origin, status } },
        );

  /** Refused as if on a lost session, which the server knows all the same. */
  const refusedOnce = (method: string, status: number) =>
    new McpSessionError(
      "OUTCOME_UNKNOWN",
      `${method} at ${url.origin}: the server refused as if it had lost the session, which it still knows. Whether the request was carried out is unknown, so it was not sent again; check first.`,
      { data: { method, origin: url.origin, status } },
    );

  const outcomeUnknown = (
    method: string,
    cause: unknown,
    { expired }: { readonly expired: boolean },
  ) => {
    const what = expired
      ? `the server was silent for ${answerTimeoutMs} ms`
      : "the server took the request and its answer was lost on the way";
    return new McpSessionError(
      "OUTCOME_UNKNOWN",
      `${method} at ${url.origin}: ${what}. Whether it was carried out is unknown; check before you send it again.`,
      { data: { method, origin: url.origin }, cause },
    );
  };

  return { notSentAgain, refusedOnce, outcomeUnknown };
}
