import type { Principal } from "@durable-mcp/core";
import { onUnavailable, optionalOptions } from "../base/check-options.ts";

/** Options of `enter` of a run. */
export interface RunOptions {
  /**
   * Called once when the clients are closed, after success, after failure and on `shutdown` of the provider. Commit
   * and save here. If it throws, the run rejects with that error, unless the run has already failed.
   */
  readonly onClose?: (() => void | Promise<void>) | undefined;
}

/** Options of `run.ready`. */
export interface ReadyOptions {
  /** For all attempts together, in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Options of the run that calls outside of a run share. */
export interface AutoSessionOptions {
  /** On whose behalf the script uses its connections. */
  readonly principal: Principal;
  /**
   * How long its sessions may be unused before they are ended, in milliseconds. @default 300000 (5
   * minutes)
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Needs a store: an option of `createDurableSessions`. */
  readonly sessionId?: undefined;
}

/** On an agent session in a store. */
export interface StoredAutoSessionOptions extends Pick<AutoSessionOptions, "principal"> {
  /**
   * Your id of the script's agent session. A later process with the same id, store, agent and principal
   * goes on in its MCP sessions.
   */
  readonly sessionId: string;
  /**
   * How long it may be unused before its clients are closed and its stdio servers ended, in milliseconds.
   * The MCP sessions go on. @default 300000 (5 minutes)
   */
  readonly idleTimeoutMs?: number | undefined;
}

export const toolsSchema = optionalOptions({ connections: "names", onUnavailable });
export const runSchema = optionalOptions({ onClose: "function" });
export const readySchema = optionalOptions({ timeoutMs: "ms", abortSignal: "abortSignal" });
export const statusSchema = optionalOptions({ connection: "text", timeoutMs: "ms" });
export const timeSchema = optionalOptions({ timeoutMs: "ms" });
export const namedSchema = optionalOptions({ connections: "names", idleTimeoutMs: "ms" });
export const signalSchema = optionalOptions({ abortSignal: "abortSignal" });
export const nestSchema = optionalOptions({ principal: "anything", abortSignal: "abortSignal" });
export const autoSessionFields = { principal: "anything", idleTimeoutMs: "ms" } as const;
export const autoSessionSchema = optionalOptions({
  ...autoSessionFields,
  sessionId: {
    refused:
      "needs a store in which a later process finds the session: give autoSession to createDurableSessions",
  },
});
