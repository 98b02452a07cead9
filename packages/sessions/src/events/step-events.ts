import type { ConnectionEvent } from "./connection-event.ts";

/** The step in which an event came. */
export interface EventStep {
  /** Tells this step from all others, of any process. It is made for this purpose and names nothing else. */
  readonly id: string;
  /** Your id of the agent session, as you gave it to `open`, `run`, `create` or `answer`; `undefined` without one. */
  readonly sessionId: string | undefined;
}

/** Tells of an event, in its step if it belongs to one. */
export type Tell = (event: ConnectionEvent, step?: EventStep) => void;

/** The events of one step. */
export interface StepEvents {
  readonly step: EventStep;
  readonly emit: (event: ConnectionEvent) => void;
  /** Counts an HTTP request to a connection's server. */
  readonly countRequest: (connection: string) => void;
  /** Tells of the step's end, once for each connection that had an event. */
  readonly end: (isFailed?: boolean) => void;
}

/** @param sessionId the id of the agent session, if there is one */
export function createStepEvents(tell: Tell, sessionId: string | undefined): StepEvents {
  const step: EventStep = { id: crypto.randomUUID(), sessionId };
  const startedAt = performance.now();
  const requests = new Map<string, number>();
  const count = (connection: string, sent: number) =>
    void requests.set(connection, (requests.get(connection) ?? 0) + sent);
  return {
    step,
    emit(event) {
      count(event.connection, 0);
      tell(event, step);
    },
    countRequest: (connection) => count(connection, 1),
    end(isFailed) {
      const durationMs = Math.round(performance.now() - startedAt);
      for (const [connection, sent] of requests) {
        const failed = isFailed && ({ outcome: "failed" } as const);
        tell({ type: "step-ended", connection, requests: sent, durationMs, ...failed }, step);
      }
    },
  };
}
