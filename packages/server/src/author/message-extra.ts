import type { AuthInfo, MessageExtra } from "../base/mcp-types.ts";
import type { ServedRequest } from "../base/served-request.ts";

interface StreamEnds {
  /** Ends the answer stream. */
  readonly hangUp?: (() => void) | undefined;
  /** Ends the listening stream. */
  readonly hangUpListening?: (() => void) | undefined;
}

/** What a server gets with a message. The web request, which costs the most, is made when it is read. */
export function createMessageExtra(
  served: ServedRequest,
  authInfo: AuthInfo | undefined,
  { hangUp, hangUpListening }: StreamEnds,
): MessageExtra {
  return new LazyExtra(served, authInfo, hangUp, hangUp && hangUpListening);
}

// A class, for an object literal with getters is slow to make.
class LazyExtra implements MessageExtra {
  readonly authInfo: AuthInfo | undefined;
  readonly closeSSEStream: (() => void) | undefined;
  readonly closeStandaloneSSEStream: (() => void) | undefined;
  readonly requestInfo: LazyRequestInfo;
  readonly #served: ServedRequest;

  constructor(
    served: ServedRequest,
    authInfo: AuthInfo | undefined,
    closeSSEStream: (() => void) | undefined,
    closeStandaloneSSEStream: (() => void) | undefined,
  ) {
    this.#served = served;
    this.authInfo = authInfo;
    this.closeSSEStream = closeSSEStream;
    this.closeStandaloneSSEStream = closeStandaloneSSEStream;
    this.requestInfo = new LazyRequestInfo(served);
  }

  get request(): Request {
    return this.#served.request;
  }
}

class LazyRequestInfo {
  readonly #served: ServedRequest;

  constructor(served: ServedRequest) {
    this.#served = served;
  }

  get headers(): Record<string, string> {
    return Object.fromEntries(this.#served.request.headers);
  }

  get url(): URL {
    return new URL(this.#served.request.url);
  }
}
