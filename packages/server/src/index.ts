export { createSessionHandler, type SessionHandler } from "./http/create-session-handler.ts";
export type { DrainOptions } from "./http/handler-life.ts";
export type {
  ResponseFormat,
  SessionClient,
  SessionHandlerOptions,
  StateScope,
} from "./author/session-handler-options.ts";
export type { ConnectableServer, CreateServer, ServerSession } from "./author/server-session.ts";
export type { ServerTasks } from "./tasks/task-host.ts";
export type { RequestStateCodec } from "./author/request-state-codec.ts";
export type { CreateStatelessHandler, StatelessHandler } from "./author/stateless-handler.ts";
export type { SessionTasks } from "./session-tasks/session-tasks.ts";
export type {
  QueuedMessage,
  Task,
  TaskMessageQueue,
  TaskStatus,
  TaskStore,
} from "./base/task-types.ts";
export type { ServerSessionEvent } from "./base/server-event.ts";
export type { EventBounds, SessionLimits, SessionTimeouts } from "./base/settings.ts";
export type { OnStateConflict, StateConflict } from "./state/combine-states.ts";
