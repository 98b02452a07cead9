import { requestError, type Sending, sendRequest, throwFailed } from "./server-request.ts";

/**
 * The JSON object at a well-known URL. `undefined` if there is none: a 4xx, or an answer that is no JSON, because many
 * applications answer any path with a page. A 429, a 5xx, or a connection that fails say nothing about it.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, and what the guard throws
 */
export async function readDocument(
  url: URL,
  { fetch, signal }: Sending,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const name = { method: "GET", url } as const;
  const answer = await sendRequest(name, { fetch, signal }, (plainFetch, limit) =>
    plainFetch(url.href, {
      headers: { accept: "application/json" },
      redirect: "manual",
      ...(limit !== undefined && { signal: limit }),
    }),
  );
  if (answer.type === "failed") throwFailed(answer, signal);
  const { status, json, isJson } = answer;
  if (status === 200) {
    if (json !== undefined || !isJson) return json;
    throw requestError(name, "the metadata is no JSON object. The server has to be fixed.", {
      status,
    });
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) return undefined;
  throw requestError(name, "the metadata could not be read. Try again later.", { status });
}
