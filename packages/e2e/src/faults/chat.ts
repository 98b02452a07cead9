import type {
  ConnectionEvent,
  ConnectionRun,
  DurableSessions,
  McpClientConnectionOptions,
} from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import type { Times, Wait, Waits } from "./waits.ts";

/** An agent session whose steps work while something is wrong. */
export interface ChatOptions {
  readonly id: string;
  readonly url: string;
  /** Keeps the sessions; without it the application carries them in its own state. */
  readonly store?: SessionStore | undefined;
  /** Those of a process that works in several chats. @default each step makes them anew */
  readonly sessionsOf?: (
    onEvent: ((event: ConnectionEvent) => void) | undefined,
    on: StepPlan["on"],
  ) => DurableSessions;
  readonly session?: McpClientConnectionOptions["session"];
  readonly required?: boolean | undefined;
  readonly now?: (() => number) | undefined;
  readonly times?: Partial<Times> | undefined;
  /** Other limits than those that follow from the times. */
  readonly waits?: Partial<Waits> | undefined;
  /** Whether the server keeps the session all the time, so that it must not be given up. @default false */
  readonly keepsSession?: boolean | undefined;
  /**
   * Whether the session is lost again and again, so that nothing lasts: the application has to be told of
   * that, once at least. @default false
   */
  readonly keepsNothing?: boolean | undefined;
  /** Whether the server has no sessions, so that it keeps no notes. @default false */
  readonly isStateless?: boolean | undefined;
  /** Whether the application takes no events: what happens is said on the console. @default false */
  readonly isDeaf?: boolean | undefined;
}

/** One tool call, and what became of it for its caller. */
export interface Call {
  /** In the arguments, and nowhere else. */
  readonly text: string;
  readonly tool: "add_note" | "echo";
  readonly step: number;
  readonly outcome: Outcome;
}

export type Outcome =
  | { readonly type: "answered"; readonly answer: string }
  | { readonly type: "failed"; readonly error: unknown }
  /** The step had no such tool. */
  | { readonly type: "no tool"; readonly events: readonly ConnectionEvent[] }
  | { readonly type: "hung" }
  /** The caller was killed before it had an answer. */
  | { readonly type: "killed" };

/** What happened to the chat's session, in order. */
export type LogEntry =
  | { readonly type: "answered"; readonly note: string | undefined; readonly isTold: boolean }
  | { readonly type: "event"; readonly event: ConnectionEvent["type"] };

export interface StepPlan {
  readonly calls: number;
  /** All at once, instead of one after the other. @default false */
  readonly atOnce?: boolean;
  /** Another machine, with the same store. @default the chat's own */
  readonly on?: Pick<ChatOptions, "store" | "now">;
  /** Called when the step is open. */
  readonly opened?: (registry: ConnectionRun) => Promise<void> | void;
  /** Called before the step ends. */
  readonly ending?: () => Promise<void> | void;
  /** Nothing is wrong during this step: every call has to be answered. @default false */
  readonly isHealthy?: boolean;
  /** Reads the notes of the session, which has to work, after the calls. @default false */
  readonly reads?: boolean;
}

export interface Chat {
  readonly options: ChatOptions;
  readonly calls: Call[];
  readonly log: LogEntry[];
  readonly waits: Wait[];
  /** What must not be, beyond the calls: one line each. */
  readonly faults: string[];
  /** The notes that the last step has read. */
  notes: readonly string[] | undefined;
  /** One step, with clients of its own, as a new process has them. Never rejects. */
  readonly step: (plan: StepPlan) => Promise<StepReport>;
}

export interface StepReport {
  readonly events: readonly ConnectionEvent[];
  /** The error of `open`. */
  readonly refused?: unknown;
}
