import {
  type GenerateTextResult,
  type ModelMessage,
  type OutputInterface,
  type StreamTextResult,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import { goingOn, messagesOfStream, responseMessagesOf } from "./agent-messages.ts";
import type { chatKey, ChatUse } from "./before-call.ts";
import type { OpenRun } from "../face/connection-run.ts";
import type { RunWaiting } from "../messages/run-waiting.ts";
import type { WhileWaiting } from "../messages/stop-when-waiting.ts";
import type { NewsEntry } from "@durable-mcp/sessions";
import { beginAgent, type AgentInTool } from "@durable-mcp/sessions/internal";

export type RuntimeContext = Record<string, unknown>;

/** What the calls of an agent go on with. */
export interface Resuming {
  readonly waiting: RunWaiting;
  readonly tools: ToolSet;
  readonly whileWaiting: WhileWaiting | undefined;
  readonly inChat: ChatUse[typeof chatKey];
  /** What tells the model of a result, for the call that comes next. */
  readonly landing: ModelMessage[];
}

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
  readonly #resuming: Resuming;
  /**
   * What watches have found, in this step.
   *
   * @internal
   */
  news: readonly NewsEntry[] = [];
  /** Under way. */
  #calls = 0;
  #isDisposed = false;

  /** @internal */
  constructor(
    run: OpenRun<any>,
    resuming: Resuming,
    settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>,
  ) {
    super(settings);
    this.#run = run;
    this.#resuming = resuming;
  }

  /** The agent session's calls that wait. */
  get waiting(): RunWaiting {
    return this.#run.waiting;
  }

  /**
   * Puts results in the places of their placeholders in UI messages.
   *
   * @internal
   */
  async resume<MESSAGE>(messages: readonly MESSAGE[]): Promise<readonly MESSAGE[]> {
    const { tools, whileWaiting, landing } = this.#resuming;
    const resumed = await this.waiting.resume(messages, { tools, whileWaiting });
    landing.push(...resumed.landing);
    this.news = resumed.news;
    return resumed.messages;
  }

  /** Like `generate` of `ToolLoopAgent`. The call holds the session until it is done. */
  override async generate(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["generate"]
    >[0],
    inTool: AgentInTool | undefined = beginAgent(),
  ): Promise<GenerateTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    const call = goingOn(parameters, inTool);
    const result = await this.#holding(() => super.generate(call.parameters));
    inTool?.keep([...call.messages, ...responseMessagesOf(result)]);
    return result;
  }

  /** Like `stream` of `ToolLoopAgent`. The stream holds the session until it has ended. */
  override async stream(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["stream"]
    >[0],
    inTool: AgentInTool | undefined = beginAgent(),
  ): Promise<StreamTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    const call = goingOn(parameters, inTool);
    const result = await this.#holding(async () =>
      this.#run.attach(await super.stream(call.parameters)),
    );
    if (inTool) inTool.keep(messagesOfStream(call.messages, result));
    return result;
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
