import { readBody } from "@durable-mcp/core/internal";

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
  return new ServedWebRequest(request);
}

/** A class, because object literals with getters are slower to make. */
class ServedWebRequest implements ServedRequest {
  readonly method: string;
  readonly #request: Request;
  #reading: Promise<string | undefined> | undefined;
  #text: string | undefined;
  #again: Request | undefined;

  constructor(request: Request) {
    this.method = request.method;
    this.#request = request;
  }

  header(name: string): string | null {
    const { headers, url } = this.#request;
    // A `Request` that was made by hand has its host in the URL alone.
    return headers.get(name) ?? (name === "host" ? new URL(url).host : null);
  }

  readBody(maxBytes: number): Promise<string | undefined> {
    return (this.#reading ??= readBody(this.#request, maxBytes).then((text) => {
      this.#text = text;
      return text;
    }));
  }

  get request(): Request {
    if (!this.#text) return this.#request;
    if (!this.#again || this.#again.bodyUsed) {
      const { url, method, headers, signal } = this.#request;
      this.#again = new Request(url, { method, headers, signal, body: this.#text });
    }
    return this.#again;
  }
}
