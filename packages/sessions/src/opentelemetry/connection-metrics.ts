import { type Attributes, type Histogram, type Meter, metrics } from "@opentelemetry/api";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionOperation, StoreOperation } from "../events/connection-telemetry.ts";
import { failureAttributes } from "./failure-attributes.ts";
import { methodName } from "./operation-attributes.ts";

/** The bounds that the conventions give for durations of operations, in seconds. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** What became known of an operation by its end. */
interface OperationEnd {
  readonly durationMs: number;
  readonly protocolVersion: string | undefined;
  /** The attributes of its failure; `undefined` if it did not fail. */
  readonly failure: Attributes | undefined;
}

/** Measures connections. No attribute has a value that a principal, a session or a server can choose freely. */
export function createConnectionMetrics(meter: Meter | undefined) {
  const instruments = createInstruments(meter);
  return {
    operation(operation: ConnectionOperation, { durationMs, failure, ...end }: OperationEnd) {
      const { calls, recoveries, waits, answers } = instruments();
      const attributes = { ...connectionAttributes(operation), ...errorType(failure) };
      const seconds = durationMs / 1_000;
      if (operation.operation === "recover") return recoveries.record(seconds, attributes);
      if (operation.operation === "ready") return waits.record(seconds, attributes);
      if (operation.operation === "answer") return answers.record(seconds, attributes);
      calls.record(seconds, { ...attributes, ...callAttributes(operation, end.protocolVersion) });
    },

    event(event: ConnectionEvent) {
      const { sessions, lookups, open, waiting } = instruments();
      const attributes = { "durable_mcp.connection": event.connection };
      switch (event.type) {
        case "started":
        case "resumed":
        case "lost":
        case "restored":
        case "recovered":
        case "sessionless":
        case "stateless":
        case "discarded":
        case "adopted":
          sessions.add(1, { ...attributes, "durable_mcp.session": event.type });
          break;
        case "waiting-call":
          waiting.add(1, { ...attributes, "durable_mcp.waiting.state": event.state });
          break;
        case "client":
          if (event.action === "opened") open.add(1, attributes);
          else if (event.action === "closed") open.add(-1, attributes);
          else lookups.add(1, { ...attributes, "durable_mcp.client": event.action });
      }
    },

    store({ operation, durationMs, error }: StoreOperation) {
      instruments().stores.record(durationMs / 1_000, {
        "durable_mcp.store.operation": operation,
        ...(error !== undefined && errorType(failureAttributes(error))),
      });
    },
  };
}

/** The global provider may be registered later than this is called, and has no stand-in until then. */
function createInstruments(own: Meter | undefined) {
  let of: unknown;
  let current: ReturnType<typeof instrumentsOf>;
  return () => {
    const provider = own ?? metrics.getMeterProvider();
    if (provider !== of) {
      of = provider;
      current = instrumentsOf(own ?? metrics.getMeter("@durable-mcp/ai-sdk"));
    }
    return current;
  };
}

function instrumentsOf(meter: Meter) {
  const duration = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      description,
      unit: "s",
      advice: { explicitBucketBoundaries: boundaries },
    });
  return {
    calls: duration(
      "mcp.client.operation.duration",
      "The duration of a handshake, a listing or a call, with all its waiting.",
    ),
    recoveries: duration(
      "durable_mcp.recovery.duration",
      "The duration of replacing a lost session or a dead process.",
    ),
    waits: duration("durable_mcp.ready.duration", "How long it took until a server answered."),
    answers: duration(
      "durable_mcp.answer.duration",
      "How long it took to send a person's answer, with all its waiting for the server.",
    ),
    stores: duration(
      "durable_mcp.store.operation.duration",
      "The duration of an operation of the store of durable sessions.",
    ),
    sessions: meter.createCounter("durable_mcp.sessions", {
      description: "Sessions that were started, resumed, lost or recovered.",
      unit: "{session}",
    }),
    waiting: meter.createCounter("durable_mcp.waiting_calls", {
      description: "Calls that wait, each time that one comes into a state.",
      unit: "{call}",
    }),
    lookups: meter.createCounter("durable_mcp.client.lookups", {
      description: "Runs that used a connection, by whether they found a live client.",
      unit: "{lookup}",
    }),
    open: meter.createUpDownCounter("durable_mcp.client.open", {
      description: "Live clients.",
      unit: "{client}",
    }),
  };
}

function connectionAttributes({ connection, transport }: ConnectionOperation): Attributes {
  return {
    "durable_mcp.connection": connection,
    "network.transport": transport === "stdio" ? "pipe" : "tcp",
  };
}

/** Without the server's address: connections that are made for a principal may have one each. */
function callAttributes(operation: ConnectionOperation, protocolVersion?: string): Attributes {
  const { tool } = operation;
  return {
    "mcp.method.name": methodName(operation, protocolVersion),
    ...(protocolVersion !== undefined && { "mcp.protocol.version": protocolVersion }),
    ...(tool !== undefined && {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
    }),
  };
}

/** A server chooses its JSON-RPC codes. Those that the specification leaves to it are one. */
function errorType(failure: Attributes | undefined): Attributes {
  if (failure === undefined) return {};
  const { "error.type": type = "_OTHER", "rpc.response.status_code": code } = failure;
  const isReserved = Number(code) >= -32_768 && Number(code) <= -32_000;
  return { "error.type": code === undefined || isReserved ? type : "_OTHER" };
}
