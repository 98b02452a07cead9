import { detach } from "@durable-mcp/core/internal";
import type { RequestId } from "../base/mcp-types.ts";
import type { CallHold } from "../records/replica.ts";

interface RunningTask {
  readonly hold: CallHold;
  readonly controller: AbortController;
  readonly timer: ReturnType<typeof setTimeout>;
}

export interface RunningTasksOptions {
  /** The first task runs, or the last is over. */
  readonly onBusy: (isBusy: boolean) => void;
  /** Rejects a question of the author's code, to which no answer can come any more. */
  readonly reject: (question: RequestId, reason: string) => void;
  /** A task's time is up. */
  readonly onExpired: (taskId: string) => void;
}

/** The tasks whose work runs in one live session, and the questions that they have asked. */
export function createRunningTasks({ onBusy, reject, onExpired }: RunningTasksOptions) {
  const running = new Map<string, RunningTask>();
  /** Tasks by their open questions. */
  const questions = new Map<RequestId, string>();
  return {
    ids: () => [...running.keys()],
    count: () => running.size,
    questions,
    begin: (taskId: string, hold: CallHold, ttl: number): void => {
      const timer = setTimeout(() => onExpired(taskId), ttl);
      detach(timer);
      running.set(taskId, { hold, controller: new AbortController(), timer });
      if (running.size === 1) onBusy(true);
    },
    /** @param reason why its work is to stop; absent when it has ended by itself */
    end: (taskId: string, reason?: string): void => {
      for (const [question, asker] of questions) {
        if (asker !== taskId) continue;
        questions.delete(question);
        reject(question, reason ?? "The task is over.");
      }
      const task = running.get(taskId);
      if (!task) return;
      running.delete(taskId);
      clearTimeout(task.timer);
      task.hold.release();
      if (reason !== undefined) task.controller.abort(new Error(reason));
      if (running.size === 0) onBusy(false);
    },
    signalOf: (taskId: string): AbortSignal =>
      running.get(taskId)?.controller.signal ??
      AbortSignal.abort(new Error("The task does not run in this session's server.")),
  };
}

export type RunningTasks = ReturnType<typeof createRunningTasks>;
