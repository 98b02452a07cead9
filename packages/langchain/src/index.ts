export { loadSessionTools, type SessionToolsOptions } from "./load-session-tools.ts";
export type { WaitingInterrupt } from "./pausing-call.ts";
