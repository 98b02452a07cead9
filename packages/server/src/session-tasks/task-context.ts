import type { Answer, RequestId } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { RunningTasks } from "./running-tasks.ts";
import type { StoredTasks, TaskOwner } from "./stored-tasks.ts";
import type { Sent } from "./task-record.ts";

/** A request of the client in whose handler code runs. */
export interface TaskCall {
  readonly isOver?: boolean;
}

/** A live session, as its tasks see it. */
export interface TaskSession extends StoreContext, TaskOwner {
  /** The session's. */
  readonly hash: string;
  readonly instance: string;
  readonly closed: AbortSignal;
  /** `undefined` outside of a handler, and of what a handler has started. */
  readonly callOf: () => TaskCall | undefined;
  /** Says that this request is in flight, and where its next message goes; `undefined` when it is over. */
  readonly holdCall: () => Promise<Sent> | undefined;
  /** Answers a request of the client. */
  readonly answer: (requestId: RequestId, message: Answer) => Promise<void>;
}

/** What the store of a live session's tasks, and their queue, are made of. */
export interface TaskContext extends TaskSession {
  readonly tasks: StoredTasks;
  readonly running: RunningTasks;
}
