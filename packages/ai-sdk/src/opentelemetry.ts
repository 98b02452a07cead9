export { openTelemetry, type OpenTelemetryOptions } from "@durable-mcp/sessions/opentelemetry";
