import {
  type GenerateTextResult,
  type OutputInterface,
  type StreamTextResult,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import type { SessionLease } from "../durable/session-lease.ts";

type RuntimeContext = Record<string, unknown>;

/**
 * An agent whose agent session is open, so that `tools` has the tools of its connections: for AI
 * SDK helpers that need them before they call the agent, such as `createAgentUIStream`.
 *
 * It holds the session until it is disposed of and all of its calls and streams have ended.
 */
export class OpenDurableAgent<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = ToolSet,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
>
  // AI SDK offers steering to instances of its class alone.
  extends ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>
  implements AsyncDisposable
{
  readonly #lease: Pick<SessionLease<any>, "attach" | "dispose" | "closed" | "registry">;

  /** @internal */
  constructor(
    lease: Pick<SessionLease<any>, "attach" | "dispose" | "closed" | "registry">,
    settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>,
  ) {
    super(settings);
    this.#lease = lease;
  }

  /** As `generate` of `ToolLoopAgent`; the call holds the session until it is done. */
  override async generate(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["generate"]
    >[0],
  ): Promise<GenerateTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    return await this.#holding(() => super.generate(parameters));
  }

  /** As `stream` of `ToolLoopAgent`; the stream holds the session until it has ended. */
  override async stream(
    parameters: Parameters<
      ToolLoopAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>["stream"]
    >[0],
  ): Promise<StreamTextResult<TOOLS, RUNTIME_CONTEXT, OUTPUT>> {
    return await this.#holding(async () => this.#lease.attach(await super.stream(parameters)));
  }

  /** Who returns a call without waiting for it disposes of the agent while the call begins. */
  async #holding<T>(run: () => Promise<T>): Promise<T> {
    const over = Promise.withResolvers<void>();
    this.#lease.attach({ consumeStream: () => over.promise });
    try {
      return await this.#lease.registry.run(run);
    } finally {
      over.resolve();
    }
  }

  /**
   * Lets go of the session. When no call and no stream is left, waits until all is written; else returns at
   * once. Never rejects.
   */
  async dispose(): Promise<void> {
    await this.#lease.dispose();
  }

  /** Resolves when the session is released and all is written, for a platform's `waitUntil`. */
  get closed(): Promise<void> {
    return this.#lease.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
