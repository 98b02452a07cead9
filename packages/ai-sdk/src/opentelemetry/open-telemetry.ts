import { MCPClientError } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import {
  type Attributes,
  context,
  createContextKey,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import * as z from "zod/mini";
import { checkOptions, flag, isFunction, optionalOptions } from "../base/check-options.ts";
import { systemCode } from "../errors/connection-error.ts";
import { causesOf } from "../errors/request-failure.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionOperation, ConnectionTelemetry } from "../events/connection-telemetry.ts";

export interface OpenTelemetryOptions {
  /** What makes the spans. @default the global provider's tracer named `@durable-mcp/ai-sdk` */
  readonly tracer?: Tracer | undefined;
  /**
   * Whether requests to servers carry the trace context, `traceparent` and `tracestate`, in
   * `params._meta`, as the global propagator writes it. Strict servers may refuse it. Baggage,
   * which is the application's own data, is never sent. @default false
   */
  readonly propagate?: boolean | undefined;
}

const telemetrySchema = optionalOptions({
  tracer: z.custom(
    (value) => isFunction((value as { startSpan?: unknown } | null)?.startSpan),
    "must be a Tracer of @opentelemetry/api",
  ),
  propagate: flag,
});

const operationKey = createContextKey("@durable-mcp/ai-sdk operation");

/**
 * Makes spans of what a provider's connections do, by the semantic conventions for MCP. For the
 * `telemetry` of `createConnectionProvider`. No span holds a session id, a token, a principal, an
 * argument, a result or a message of an error.
 *
 * @example
 * createConnectionProvider({ connections, telemetry: openTelemetry() })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md as of 2026-11-22
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): ConnectionTelemetry {
  const { tracer = trace.getTracer("@durable-mcp/ai-sdk"), propagate = false } = checkOptions(
    telemetrySchema,
    options,
  );
  return {
    async trace(operation, run) {
      const parent = context.active();
      const span = tracer.startSpan(
        spanName(operation),
        {
          // Several requests, and what prepares a session, make a recovery.
          kind: operation.operation === "recover" ? SpanKind.INTERNAL : SpanKind.CLIENT,
          attributes: operationAttributes(operation),
        },
        parent,
      );
      const fail = (attributes: Record<string, string | number>) => {
        span.setAttributes(attributes);
        // Without a description: messages may quote what a server said.
        span.setStatus({ code: SpanStatusCode.ERROR });
      };
      const inside = trace.setSpan(parent, span).setValue(operationKey, span);
      return await context.with(inside, async () => {
        try {
          return await run(({ protocolVersion, isToolError, refusedStatus }) => {
            if (protocolVersion !== undefined) {
              span.setAttribute("mcp.protocol.version", protocolVersion);
              const method = methodName(operation, protocolVersion);
              if (method !== methodName(operation)) {
                span.setAttribute("mcp.method.name", method);
                span.updateName(method);
              }
            }
            if (isToolError) fail({ "error.type": "tool_error" });
            if (refusedStatus !== undefined) fail(failureAttributes({ statusCode: refusedStatus }));
          });
        } catch (error) {
          fail(failureAttributes(error));
          throw error;
        } finally {
          span.end();
        }
      });
    },

    observe(event) {
      const span = context.active().getValue(operationKey) as Span | undefined;
      if (span !== undefined) noteSession(span, event);
    },

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

/** What became of the session while the operation was under way. */
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

/** Revisions from this one on have no `initialize`. */
const firstWithoutInitialize = "2026-07-28";

const methods = { list: "tools/list", call: "tools/call" } as const;

/** The method that an operation is named for; a recovery is more than one request. */
function methodName({ operation }: ConnectionOperation, protocolVersion = ""): string {
  if (operation === "recover") return "recover";
  if (operation !== "connect") return methods[operation];
  return protocolVersion >= firstWithoutInitialize ? "server/discover" : "initialize";
}

function spanName(operation: ConnectionOperation): string {
  const { tool } = operation;
  return tool === undefined ? methodName(operation) : `${methodName(operation)} ${tool}`;
}

/** What is known of an operation at its start, when samplers decide. */
function operationAttributes(operation: ConnectionOperation): Attributes {
  const { connection, transport, origin, tool } = operation;
  return {
    ...(operation.operation !== "recover" && { "mcp.method.name": methodName(operation) }),
    ...(tool !== undefined && {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
    }),
    "durable_mcp.connection": connection,
    "network.transport": transport === "stdio" ? "pipe" : "tcp",
    ...(transport === "http" && { "network.protocol.name": "http" }),
    ...(origin !== undefined && serverAttributes(new URL(origin))),
  };
}

function serverAttributes({ hostname, port, protocol }: URL): Attributes {
  return {
    // Without the brackets around an IPv6 address.
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
  };
}

const abortNames = ["AbortError", "TimeoutError"];

/**
 * What a span says of an error: its class, and no word of its message. `error.type` is, in this
 * order, our own code, the JSON-RPC error's, the HTTP status, how it was aborted (`AbortError`,
 * `TimeoutError`), the system's code such as `ECONNREFUSED`, or `_OTHER`.
 */
export function failureAttributes(error: unknown): Record<string, string | number> {
  if (McpSessionError.isInstance(error)) {
    const { status, reason } = error.data;
    return {
      "error.type": error.code,
      ...statusAttribute(status),
      ...(reason !== undefined && { "durable_mcp.reason": reason }),
    };
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  // The numeric `code` of a `DOMException` is none of JSON-RPC.
  if (MCPClientError.isInstance(error) && Number.isInteger(code)) {
    const type = String(code);
    return {
      "error.type": type,
      "rpc.response.status_code": type,
      ...statusAttribute(statusCode),
    };
  }
  if (typeof statusCode === "number") {
    return { "error.type": String(statusCode), ...statusAttribute(statusCode) };
  }
  const names = causesOf(error).map(({ name }) => name);
  const aborted = abortNames.find((name) => names.includes(name));
  return { "error.type": aborted ?? systemCode(error) ?? "_OTHER" };
}

function statusAttribute(status: unknown): Record<string, number> {
  return typeof status === "number" ? { "http.response.status_code": status } : {};
}
