/** A call of the session fetch, with `Request` and `init` merged. */
export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: BodyInit | null | undefined;
  readonly signal: AbortSignal | undefined;
  /** The other fields of `init`, passed on unchanged (`credentials`, undici's `dispatcher`). */
  readonly init: RequestInit;
}

/** The URL that a call of `fetch` is for. */
export function requestUrl(input: RequestInfo | URL): URL {
  return new URL(input instanceof Request ? input.url : String(input));
}

export async function readOutgoingRequest(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<OutgoingRequest> {
  const request = input instanceof Request ? input : undefined;
  const { body: _, signal: __, ...rest } = init;
  return {
    method: (init.method ?? request?.method ?? "GET").toUpperCase(),
    headers: new Headers(init.headers ?? request?.headers),
    body: init.body ?? (request?.body ? await request.clone().text() : undefined),
    signal: init.signal ?? request?.signal ?? undefined,
    init: rest,
  };
}

/** The body as text, if it can be read more than once. */
export function bodyText({ body }: OutgoingRequest): string | undefined {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) {
    return new TextDecoder().decode(body);
  }
  return undefined;
}
