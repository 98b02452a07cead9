import type { SessionRecord } from "../records/session-record.ts";
import type { Principal, SessionStore } from "@durable-mcp/core";
import type { SealingKeys } from "@durable-mcp/core/sealing";
import type { AuthInfo, ClientCapabilities, Implementation } from "../base/mcp-types.ts";
import type { ServerSessionEvent } from "../base/server-event.ts";
import type { EventBounds, SessionLimits, SessionTimeouts } from "../base/settings.ts";
import type { OnStateConflict } from "../state/combine-states.ts";
import type { StoredState } from "../state/stored-state.ts";
import type { CreateServer } from "./server-session.ts";
import type { CreateStatelessHandler } from "./stateless-handler.ts";

/** How the requests of a session are answered: as SSE streams, or each with one JSON body. */
export type ResponseFormat = "sse" | "json";

/** What `session.state` belongs to. */
export type StateScope = "session" | "principal" | { readonly handle: string };

/** A client, as it described itself when its session started. */
export interface SessionClient {
  /** As the client calls itself: unverified. */
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: ClientCapabilities;
  /** The revision that the client asked for. */
  readonly protocolVersion: string;
}

/** Options of `createSessionHandler`. */
export interface SessionHandlerOptions<State extends object = Record<string, unknown>> {
  /** Builds the server of one session: when it starts, and again wherever it is restored. */
  readonly createServer: CreateServer<State>;
  /** Keeps the sessions. @default the memory of this process, which a restart loses */
  readonly store?: SessionStore | undefined;
  /**
   * Identifies the sender of a request by something verified, such as a token. With `undefined` the
   * request gets 401; a `Response` is sent as it is. `"none"`: senders are not told apart, and
   * whoever has a session's id has the session.
   */
  readonly principal:
    | "none"
    | ((
        request: Request,
      ) => Principal | Response | undefined | Promise<Principal | Response | undefined>);
  /**
   * Seal the `requestState` that `createServer` gets, for questions of `inputRequired`. All replicas need the same
   * keys, over restarts. @default none: there is no `requestState` then
   */
  readonly keys?: SealingKeys | undefined;
  /** The value of `extra.authInfo` in handlers. */
  readonly authInfo?:
    | ((request: Request) => AuthInfo | undefined | Promise<AuthInfo | undefined>)
    | undefined;
  /** Tells handlers that share a store apart. @default "default" */
  readonly name?: string | undefined;
  /** The state of a new session. @default an empty object */
  readonly initialState?: (() => State) | undefined;
  /**
   * Reads a stored state, which an earlier release may have written, for a handler: `schema.parse` of a
   * schema with defaults, or a function of yours. @default as it is stored
   */
  readonly migrate?: ((stored: StoredState) => State) | undefined;
  /**
   * Decides when two calls at once have changed the same path; changes of different paths are both
   * kept. @default the later call fails
   */
  readonly onStateConflict?: OnStateConflict<State> | undefined;
  /**
   * `"json"` for clients that do not resume broken streams: they see their connection fail, and do
   * not wait for an answer that died with a process. Messages that the server sends before its
   * answer go to the listening stream then. @default "sse"
   */
  readonly responseFormat?:
    | ResponseFormat
    | ((client: SessionClient) => ResponseFormat)
    | undefined;
  /** The answer to a request with an unknown id: 404, or a session of its own. @default "reject" */
  readonly unknownSession?: "reject" | "adopt" | undefined;
  /** The capabilities that adopted clients are assumed to have. @default none */
  readonly adoptedCapabilities?: ClientCapabilities | undefined;
  /**
   * What `session.state` belongs to. `"session"`: each session has its own, and clients of 2026-07-28,
   * which have no sessions, have none. `"principal"`: one for all sessions and requests of a principal.
   * `{ handle: "cart" }`: the one that the argument `cart` of tools and prompts names, a handle from
   * `session.handle`. @default "session"
   */
  readonly stateScope?: StateScope | undefined;
  /**
   * `createMcpHandler` of `@modelcontextprotocol/server`: serves clients of 2026-07-28 on the same URL,
   * with servers of `createServer`. @default they fall back to a session
   */
  readonly stateless?: CreateStatelessHandler | undefined;
  /**
   * Names (without port) or hosts (with port) that the server answers to; `"any"` leaves the check
   * to a proxy in front of it. @default localhost, 127.0.0.1 and [::1]
   */
  readonly allowedHosts?: readonly string[] | "any" | undefined;
  /** Names or origins of pages that may send requests. @default as `allowedHosts` */
  readonly allowedOrigins?: readonly string[] | "any" | undefined;
  readonly timeouts?: SessionTimeouts | undefined;
  readonly limits?: SessionLimits | undefined;
  readonly events?: EventBounds | undefined;
  /** Gets the events of sessions. @default nothing listens */
  readonly onEvent?: ((event: ServerSessionEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** How the calls of a session are answered. */
export function chooseFormat<State extends object>(
  { responseFormat = "sse" }: SessionHandlerOptions<State>,
  { initialize }: SessionRecord,
): ResponseFormat {
  if (typeof responseFormat !== "function") return responseFormat;
  return responseFormat({
    clientInfo: initialize["clientInfo"] as never,
    clientCapabilities: initialize.capabilities,
    protocolVersion: initialize.protocolVersion,
  });
}
