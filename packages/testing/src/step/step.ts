import type { SessionStore } from "@durable-mcp/core";
import type { Clock } from "../clock.ts";
import type { SentRequest, StopPlan } from "./step-points.ts";

/** What a step is given beside its input. */
export interface StepContext {
  /** For options of that name: the global `fetch` of a process, and in this one the only `fetch` with points. */
  readonly fetch: typeof globalThis.fetch;
  /** Makes the points of a store known: give the step's code what this returns. */
  readonly watch: (store: SessionStore) => SessionStore;
  /** The clock of the test. @default the time */
  readonly now: () => number;
}

/** The default export of a step's module. Input and output are JSON. */
export type StepFunction<INPUT, OUTPUT> = (
  input: INPUT,
  context: StepContext,
) => OUTPUT | Promise<OUTPUT>;

/** Options of `startStep` and `runStep`. */
export interface StepOptions<INPUT> {
  readonly input?: INPUT | undefined;
  /** The `Date` of the step's process. In this process a step only gets its `now`. */
  readonly clock?: Pick<Clock, "path" | "now"> | undefined;
  /** Beside the variables of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Options for Node, such as `["--import", "tsx"]`. @default [] */
  readonly execArgv?: readonly string[] | undefined;
  /** Whether the process must end by itself after its output, as when nothing was left open. @default false */
  readonly endsByItself?: boolean | undefined;
  /** Longer than this no step lasts, in milliseconds: then it is killed. @default 60000 */
  readonly timeoutMs?: number | undefined;
}

/** What a step has sent; with `printed`, what its process wrote to stdout and stderr. */
interface StoppedStep {
  readonly sent: readonly SentRequest[];
  readonly printed: string;
}

/** Where a step is stopped: at a point, or as soon as something else has happened. */
export type StopOptions = StopPlan | { readonly at: Promise<unknown> };

/** A step that is ready. It begins when a test says what becomes of it. */
export interface Step<OUTPUT> {
  /** Lets it work to its end. @throws the step's error, with its `name`, `message`, `code` and `data` */
  finish(): Promise<StoppedStep & { readonly output: OUTPUT }>;
  /**
   * Has it work up to a point, and kills it there: `kill -9`. Without a point it is killed at once.
   *
   * @throws {Error} if it ended before it was there
   */
  kill(stop?: StopOptions): Promise<StoppedStep>;
  /** The same, but it stands still (SIGSTOP) until `resume`, once. Not on Windows. */
  freeze(stop: StopOptions): Promise<StoppedStep>;
  /** Lets it go on that is frozen; `finish` has its end. */
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
