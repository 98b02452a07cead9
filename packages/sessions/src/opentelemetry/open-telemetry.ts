import {
  type Attributes,
  context,
  createContextKey,
  type Meter,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { createConnectionMetrics } from "./connection-metrics.ts";
import { failureAttributes } from "./failure-attributes.ts";
import { isRequest, methodName, operationAttributes, spanName } from "./operation-attributes.ts";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Makes the spans. @default the global provider's tracer named `@durable-mcp/ai-sdk` */
  readonly tracer?: Tracer | undefined;
  /** Makes the metrics. @default the global provider's meter named `@durable-mcp/ai-sdk` */
  readonly meter?: Meter | undefined;
  /**
   * Whether requests to servers carry the trace context, `traceparent` and `tracestate`, in
   * `params._meta`, as the global propagator writes it. Strict servers may refuse it. Baggage,
   * which is the application's own data, is never sent. @default false
   */
  readonly propagate?: boolean | undefined;
}

const telemetrySchema = optionalOptions({
  tracer: { methods: ["startSpan"], is: "a Tracer of @opentelemetry/api" },
  meter: { methods: ["createHistogram"], is: "a Meter of @opentelemetry/api" },
  propagate: "flag",
});

const operationKey = createContextKey("@durable-mcp/ai-sdk operation");

/**
 * Makes spans and metrics of connections and their store, by the semantic conventions for MCP: the `telemetry` of
 * `createDurableSessions` and `createConnectionProvider`. None holds a session id, a token, a principal, an argument, a
 * result or a message of an error.
 *
 * @example
 * createDurableSessions({ connections, store, telemetry: openTelemetry() })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md as of 2026-11-22
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): ConnectionTelemetry {
  const {
    tracer = trace.getTracer("@durable-mcp/ai-sdk"),
    meter,
    propagate = false,
  } = checkOptions(telemetrySchema, options);
  const measures = createConnectionMetrics(meter);
  return {
    async trace(operation, run) {
      const start = performance.now();
      let version: string | undefined;
      let failure: Attributes | undefined;
      const parent = context.active();
      const span = tracer.startSpan(
        spanName(operation),
        {
          // Several requests, and what prepares a session, make a recovery.
          kind: isRequest(operation) ? SpanKind.CLIENT : SpanKind.INTERNAL,
          attributes: operationAttributes(operation),
        },
        parent,
      );
      const fail = (attributes: Attributes) => {
        failure = attributes;
        span.setAttributes(attributes);
        // Without a description: messages may quote what a server said.
        span.setStatus({ code: SpanStatusCode.ERROR });
      };
      const inside = trace.setSpan(parent, span).setValue(operationKey, span);
      return await context.with(inside, async () => {
        try {
          return await run(({ protocolVersion, isToolError, refusedStatus, waiting }) => {
            if (protocolVersion !== undefined) {
              version = protocolVersion;
              span.setAttribute("mcp.protocol.version", protocolVersion);
              const method = methodName(operation, protocolVersion);
              if (method !== methodName(operation)) {
                span.setAttribute("mcp.method.name", method);
                span.updateName(method);
              }
            }
            if (waiting !== undefined) {
              span.setAttribute("durable_mcp.waiting.round", waiting.round);
              span.setAttribute("durable_mcp.waiting.state", waiting.state);
              if (waiting.state === "outcome-unknown") fail({ "error.type": "OUTCOME_UNKNOWN" });
            }
            if (isToolError) fail({ "error.type": "tool_error" });
            if (refusedStatus !== undefined) fail(failureAttributes({ statusCode: refusedStatus }));
          });
        } catch (error) {
          fail(failureAttributes(error));
          throw error;
        } finally {
          span.end();
          const durationMs = performance.now() - start;
          measures.operation(operation, { durationMs, protocolVersion: version, failure });
        }
      });
    },

    observe(event) {
      measures.event(event);
      const span = context.active().getValue(operationKey) as Span | undefined;
      if (span !== undefined) noteSession(span, event);
    },

    observeStore: (operation) => measures.store(operation),

    ...(propagate && {
      traceContext() {
        const fields: Record<string, string> = {};
        propagation.inject(context.active(), fields);
        const { traceparent, tracestate } = fields;
        return traceparent === undefined
          ? undefined
          : { traceparent, ...(tracestate !== undefined && { tracestate }) };
      },
    }),
  };
}

/** The fate of the session while the operation was under way. */
function noteSession(span: Span, event: ConnectionEvent): void {
  switch (event.type) {
    case "started":
    case "resumed":
    case "recovered":
    case "sessionless":
      span.setAttribute("mcp.protocol.version", event.protocolVersion);
      span.setAttribute("durable_mcp.session", event.type);
      break;
    case "stateless":
      span.setAttribute("durable_mcp.session", event.type);
  }
}
