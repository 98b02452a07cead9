import type { CreateOwnClient, OwnClient, OwnClientOptions } from "../../clients/own-client.ts";

/** What the scenarios need of any MCP client. */
export interface ConformanceClient extends Omit<OwnClient, "readFirst"> {
  /** What to save once it is closed, when the session is the client's own to keep. */
  readonly saved?: () => unknown;
}

export interface ConformanceClientKind {
  readonly create:
    | CreateOwnClient
    | ((options: OwnClientOptions & { saved: unknown }) => ConformanceClient);
  /** Whether the client is not put on a session fetch: it brings its own, or shows what is missing. */
  readonly hasOwnFetch?: boolean;
}

/** That the application gives one allows the authorization server, which is another origin. */
export const vouchingFetch: typeof globalThis.fetch = (input, init) =>
  globalThis.fetch(input, init);
