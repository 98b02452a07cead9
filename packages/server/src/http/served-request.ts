import { readBody } from "./read-body.ts";

/** A request as the handler needs it, whatever runtime it came from. */
export interface ServedRequest {
  readonly method: string;
  /** By its name in lower case; one that came several times is joined with commas. */
  header(name: string): string | null;
  /**
   * The body as text, read once; `undefined` when it is longer than `maxBytes`.
   * @throws {BodyNotRead} the client left, or somebody else has read the body
   */
  readBody(maxBytes: number): Promise<string | undefined>;
  /** For the author's functions. Its body can still be read after `readBody`. */
  readonly request: Request;
}

export function servedFromWeb(request: Request): ServedRequest {
  let reading: Promise<string | undefined> | undefined;
  let text: string | undefined;
  let again: Request | undefined;
  return {
    method: request.method,
    // A `Request` that was made by hand has its host in the URL alone.
    header: (name) =>
      request.headers.get(name) ?? (name === "host" ? new URL(request.url).host : null),
    readBody: (maxBytes) =>
      (reading ??= readBody(request, maxBytes).then((read) => {
        text = read;
        return read;
      })),
    get request() {
      if (!text) return request;
      const { url, method, headers, signal } = request;
      if (!again || again.bodyUsed) {
        again = new Request(url, { method, headers, signal, body: text });
      }
      return again;
    },
  };
}
