import { isRecord } from "@durable-mcp/core/internal";

type Fetch = typeof globalThis.fetch;

/** With these statuses something refuses that stands before the server's methods. */
const ofGate: ReadonlySet<number> = new Set([401, 403, 429]);

/**
 * The fetch of one client, which throws when a request is refused. `@ai-sdk/mcp` takes a JSON-RPC error in
 * the body of a refusal for the server's own answer, and forgets the status. Errors of 5xx that name the
 * request are the server's own.
 *
 * @param options.hasLogin whether the client logs in after the first 401 to a request
 */
export function withRefusals(fetch: Fetch, { hasLogin }: { hasLogin: boolean }): Fetch {
  const refusedOnce = new Set<unknown>();
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status } = response;
    if (!ofGate.has(status) && status < 500) return response;
    const request = parse(init?.body);
    if (request?.["id"] === undefined || request["method"] === "server/discover") return response;
    if (status === 401 && hasLogin && !refusedOnce.has(request["id"])) {
      refusedOnce.add(request["id"]);
      return response;
    }
    const body = await response.text();
    const answer = parse(body);
    const isAnswer = isRecord(answer?.["error"]) && (ofGate.has(status) || answer["id"] == null);
    if (isAnswer) throw new RefusedRequest(status, body);
    return new Response(body === "" ? null : body, response);
  };
}

/** Has the fields of a client's error. */
class RefusedRequest extends Error {
  readonly statusCode: number;
  readonly responseBody: string;

  constructor(statusCode: number, responseBody: string) {
    super(`HTTP ${statusCode}`);
    this.statusCode = statusCode;
    this.responseBody = responseBody;
  }
}

function parse(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
