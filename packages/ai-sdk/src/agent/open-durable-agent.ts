import {
  type GenerateTextResult,
  type OutputInterface,
  type StreamTextResult,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import type { OpenRun } from "../sessions/open-run.ts";
import type { RunWaiting } from "../waiting/run-waiting.ts";

export type RuntimeContext = Record<string, unknown>;

/**
 * An agent with an open agent session, so `tools` has the tools of its connections. It is for AI SDK
 * helpers that need them before they call the agent, such as `createAgentUIStream`.
 *
 * It holds the session until it is disposed of and all of its calls and streams have ended.
 */
export class OpenDurableAgent<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = ToolSet,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
>
  // AI SDK only offers steering to instances of its own class.
  extends ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>
  implements AsyncDisposable
{
  readonly #run: OpenRun<any>;
  /** Under way. */
  #calls = 0;
  #isDisposed = false;

  /** @internal */
  constructor(
    run: OpenRun<any>,
    settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>,
  ) {
    super(settings);
    this.#run = run;
  }

  /** The agent session's calls that wait for a person. */
  get waiting(): RunWaiting {
    return this.#run.waiting;
  }

  /** Like `generate` of `ToolLoopAgent`. The call holds the session until it is done. */
  override async generate(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["generate"]
    >[0],
  ): Promise<GenerateTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    return await this.#holding(() => super.generate(parameters));
  }

  /** Like `stream` of `ToolLoopAgent`. The stream holds the session until it has ended. */
  override async stream(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["stream"]
    >[0],
  ): Promise<StreamTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    return await this.#holding(async () => this.#run.attach(await super.stream(parameters)));
  }

  /** Holds the session from the start, because code may return a call and dispose of the agent at once. */
  async #holding<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isLetGo()) {
      throw new TypeError("The agent's run is closed. Make calls before you dispose of the agent.");
    }
    this.#calls += 1;
    try {
      return await this.#run.enter(call);
    } finally {
      this.#calls -= 1;
      await this.#closeIfLast();
    }
  }

  #isLetGo(): boolean {
    return this.#isDisposed && this.#calls === 0;
  }

  /** Does not return before all is written, because the process may then end. */
  async #closeIfLast(): Promise<void> {
    if (this.#isLetGo()) await this.#run.dispose();
  }

  /**
   * Lets go of the session. If no call and no stream is left, it waits until all is written. Otherwise it
   * returns at once. Never rejects.
   */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.#closeIfLast();
  }

  /** Resolves when the session is closed and all is written, for a platform's `waitUntil`. */
  get closed(): Promise<void> {
    return this.#run.closed;
  }

  /** The same as `dispose`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
