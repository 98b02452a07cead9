export { createEventLog, type EventLogOptions } from "@durable-mcp/sessions/event-log";
