import type { Answer, RequestId } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { StreamPlace } from "../streams/call-record.ts";
import type { RunningTasks } from "./running-tasks.ts";
import type { StoredTasks, TaskOwner } from "./stored-tasks.ts";

/** A request of the client in whose handler code runs. */
export interface TaskCall {
  isOver?: boolean;
  onOver?: () => void;
}

/** A live session, as its tasks see it. */
export interface TaskSession extends StoreContext, TaskOwner {
  /** The session's. */
  readonly hash: string;
  readonly instance: string;
  readonly closed: AbortSignal;
  /** `undefined` outside of a handler, and of what a handler has started. */
  readonly callOf: () => TaskCall | undefined;
  /** Where the next message goes of the call in whose handler code runs. */
  readonly nextPlace: () => StreamPlace | undefined;
  /** Answers a request of the client. */
  readonly answer: (requestId: RequestId, message: Answer) => Promise<void>;
}

/** What the store of a live session's tasks, and their queue, are made of. */
export interface TaskContext extends TaskSession {
  readonly tasks: StoredTasks;
  readonly running: RunningTasks;
}
