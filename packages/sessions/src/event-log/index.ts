export { createEventLog, type EventLogOptions } from "./create-event-log.ts";
