import type { WaitingInterrupt } from "@durable-mcp/langchain";

/** What a process of the agent is told. */
export interface GraphTurn {
  readonly url: string;
  /** Where checkpoints and sessions are. It names the agent session too. */
  readonly folder: string;
  /** Answers, by the ids of interrupts; `null` to go on without any. @default the agent starts */
  readonly resume?: Readonly<Record<string, unknown>> | null;
  /** How late it is, in milliseconds. @default 0 */
  readonly laterMs?: number;
}

/** What the graph has after it. */
export interface GraphState {
  readonly __interrupt__: readonly { readonly id?: string; readonly value?: WaitingInterrupt }[];
  readonly results: readonly { readonly content: unknown; readonly artifact: unknown }[];
}
