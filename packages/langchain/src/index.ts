export { loadSessionTools, type SessionToolsOptions } from "./load-session-tools.ts";
