import type { ClientName } from "../clients/index.ts";

/** What a step is told. */
export interface StepInput {
  client: ClientName;
  url: string;
  /** What the step before left; a fresh step has none. */
  snapshot?: unknown;
  /** Lists the tools before the calls. */
  list?: boolean;
  calls?: StepCall[];
  /** Makes all calls at once instead of one after the other. */
  overlapping?: boolean;
  /** A call without an outcome after this time counts as hung. @default 20000 */
  callTimeoutMs?: number;
  /** Where `onSession` writes the snapshot: the save point. */
  savePath?: string;
  /**
   * `pass-through` keeps the session but leaves the request ids alone. `memory` keeps what a server without
   * sessions allows to keep. @default "durable"
   */
  sessionFetch?: "durable" | "pass-through" | "memory";
}

export interface StepCall {
  tool: string;
  args: Record<string, unknown>;
}

export interface StepCallResult {
  tool: string;
  text?: string;
  isError?: boolean;
  structuredContent?: unknown;
  error?: StepError;
  hung?: boolean;
}

export interface StepError {
  name: string;
  message: string;
  code?: unknown;
  /** The code of our own error, however the client wrapped it. */
  sessionCode?: string;
  /** The error as Node prints it: stack, causes and properties. */
  printed: string;
}

/** What a step gives. */
export interface StepOutput {
  pid: number;
  snapshot?: unknown;
  tools?: string[];
  results: StepCallResult[];
  events: { type: string }[];
  error?: StepError;
}

/** A step that has ended. */
export interface StepRun extends StepOutput {
  /** All that the process printed. */
  printed: string;
}
