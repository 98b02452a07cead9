export {
  createSessionHandler,
  type DrainOptions,
  type SessionHandler,
} from "./create-session-handler.ts";
export type {
  AnswerKind,
  ConnectableServer,
  CreateServer,
  ServerSession,
} from "./server-session.ts";
export type { ServerSessionEvent } from "./server-event.ts";
export type {
  AnsweredClient,
  EventBounds,
  SessionHandlerOptions,
  SessionLimits,
} from "./session-handler-options.ts";
export type { OnStateConflict, StateConflict } from "./shared-state.ts";
export {
  type FetchHandler,
  wrapFetchHandler,
  type WrapFetchHandlerOptions,
} from "./wrap-fetch-handler.ts";
