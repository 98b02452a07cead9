import type {
  ConnectionOperation,
  ConnectionTelemetry,
  NoteDetails,
} from "./connection-telemetry.ts";

/** Traces the operations of one connection. */
export type TraceOperation = <T>(
  operation: Pick<ConnectionOperation, "operation" | "tool">,
  run: (note: NoteDetails) => Promise<T>,
) => Promise<T>;

const noteNothing: NoteDetails = () => undefined;

/** For connections whose provider has no telemetry. */
export const traceNothing: TraceOperation = (_, run) => run(noteNothing);

export function createOperationTracer(
  telemetry: ConnectionTelemetry | undefined,
  connection: Omit<ConnectionOperation, "operation" | "tool">,
): TraceOperation {
  if (telemetry === undefined) return traceNothing;
  /** The version that the last connected client speaks. */
  let protocolVersion: string | undefined;
  return (operation, run) =>
    telemetry.trace({ ...connection, ...operation }, async (note) => {
      const noteAndKeep: NoteDetails = (details) => {
        protocolVersion = details.protocolVersion ?? protocolVersion;
        note(details);
      };
      try {
        return await run(noteAndKeep);
      } finally {
        const isOnClient = operation.operation === "list" || operation.operation === "call";
        if (isOnClient && protocolVersion !== undefined) note({ protocolVersion });
      }
    });
}
