import type { SessionStore } from "@durable-mcp/core";
import type { Clock } from "../clock.ts";
import type { SentRequest, StopPlan } from "./step-points.ts";

/** What a step is given beside its input. */
export interface StepContext {
  /** The step's `fetch`, with its points. In a process of its own the global `fetch` has them too. */
  readonly fetch: typeof globalThis.fetch;
  /** Adds points to a store: give the step's code what this returns. */
  readonly watch: (store: SessionStore) => SessionStore;
  /** The clock of the test. @default the time */
  readonly now: () => number;
}

/** The default export of a step's module. Input and output are JSON. */
export type StepFunction<INPUT, OUTPUT> = (
  input: INPUT,
  context: StepContext,
) => OUTPUT | Promise<OUTPUT>;

/** Options of `startStep` and `runStep`. Only `input` and `clock` count for a function in this process. */
export interface StepOptions<INPUT> {
  readonly input?: INPUT | undefined;
  /** The `Date` of the step's process. A function only gets its `now`. @default the time */
  readonly clock?: Pick<Clock, "path" | "now"> | undefined;
  /** Environment variables, beside those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Options for Node, such as `["--import", "tsx"]`. @default [] */
  readonly execArgv?: readonly string[] | undefined;
  /** Whether the process must end by itself after its output, as when nothing was left open. @default false */
  readonly endsByItself?: boolean | undefined;
  /** The step is killed after this time, in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
}

/** What a step has sent; with `printed`, what its process wrote to stdout and stderr. */
interface StoppedStep {
  readonly sent: readonly SentRequest[];
  readonly printed: string;
}

/** Where a step is stopped: at a point, or as soon as something else has happened. */
export type StopOptions = StopPlan | { readonly at: Promise<unknown> };

/** A step that is ready. It begins with the first call of `finish`, `freeze`, or `kill` with a point. */
export interface Step<OUTPUT> {
  /** Lets it work to its end. @throws the step's error, with its `name`, `message`, `code` and `data` */
  finish(): Promise<StoppedStep & { readonly output: OUTPUT }>;
  /**
   * Lets it work up to a point, and kills it there: `kill -9`. Without a point it is killed at once.
   *
   * @throws {Error} if it ended before the point
   */
  kill(stop?: StopOptions): Promise<StoppedStep>;
  /** The same, but it stands still (SIGSTOP) until `resume`, once. Not on Windows. */
  freeze(stop: StopOptions): Promise<StoppedStep>;
  /** Lets a frozen step go on; `finish` waits for its end. */
  resume(): void;
}

/** What a step's process is told first. */
export interface BeginStep {
  readonly input: unknown;
  readonly endsByItself: boolean;
  readonly stop?: (StopPlan & { readonly freezes: boolean }) | undefined;
}

/** What a step's process says. */
export interface StepReport {
  readonly type: "ready" | "reached" | "ended";
  readonly sent: readonly SentRequest[];
  readonly output?: unknown;
  /** As plain data. */
  readonly error?: { readonly message: string } | undefined;
}
