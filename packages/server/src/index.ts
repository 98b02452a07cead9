export {
  createSessionHandler,
  type DrainOptions,
  type SessionHandler,
} from "./http/create-session-handler.ts";
export type {
  AnswerKind,
  ConnectableServer,
  CreateServer,
  ServerSession,
} from "./live/server-session.ts";
export type { ServerSessionEvent } from "./base/server-event.ts";
export type {
  AnsweredClient,
  EventBounds,
  SessionHandlerOptions,
  SessionLimits,
} from "./live/session-handler-options.ts";
export type { OnStateConflict, StateConflict } from "./state/shared-state.ts";
export {
  type FetchHandler,
  wrapFetchHandler,
  type WrapFetchHandlerOptions,
} from "./http/wrap-fetch-handler.ts";
