import { waitingCallOf } from "@durable-mcp/core/internal";
import type { LanguageModel, PrepareStepFunction, PrepareStepResult } from "ai";
import {
  checkOptions,
  currentToolCall,
  optionalOptions,
  ownField,
} from "@durable-mcp/sessions/internal";
import { findPlaceholders, lastSpeaker, type Placeholder } from "./placeholders.ts";

/** What depends on an application's tools and, with AI SDK 7, on its contexts. */
interface OfAnyTools {
  readonly steps: any[];
  readonly runtimeContext: any;
  readonly toolsContext: any;
}

/** A stop condition of AI SDK 6 or 7, for any tools. */
type AnyStopCondition = (options: Pick<OfAnyTools, "steps">) => PromiseLike<boolean> | boolean;

/** A `prepareStep` of AI SDK 6 or 7, for any tools. */
type AnyPrepareStep = (
  options: Omit<Parameters<PrepareStepFunction<any>>[0], keyof OfAnyTools> & OfAnyTools,
) => PrepareStepResult<any> | PromiseLike<PrepareStepResult<any>>;

/** What happens when the user writes while a call waits. */
export type WhileWaiting = "reply" | "hold" | "withdraw";
export const whileWaiting = { oneOf: ["reply", "hold", "withdraw"] } as const;

/** Options of `stopWhenWaiting`. */
export interface StopWhenWaitingOptions {
  /**
   * What happens when the user writes while a call waits. `"reply"`: the model answers. `"hold"`: a text says that the
   * call waits, and the model is not called. `"withdraw"`: as `"reply"`, once `resume` has taken the call back.
   * @default "reply"
   */
  readonly whileWaiting?: WhileWaiting | undefined;
  /**
   * Which calls end the loop. `"any"`: each that waits. `"person"`: those that wait for a person; with a task or a slow
   * answer the model goes on, and the result comes in a later step. @default "any"
   */
  readonly for?: "any" | "person" | undefined;
  /** The application's own conditions. @default AI SDK's: one step, and for an agent 20 */
  readonly stopWhen?: AnyStopCondition | readonly AnyStopCondition[] | undefined;
  /** The application's own `prepareStep`. It is not called for a step in which the model says nothing. */
  readonly prepareStep?: AnyPrepareStep | undefined;
}

/** Settings of `generateText`, `streamText` and `ToolLoopAgent` of AI SDK 6 and 7. */
export interface StoppedWhenWaiting {
  /** Not there if the application gave none, so that AI SDK's default stays. */
  stopWhen?: ((options: any) => PromiseLike<boolean> | boolean)[];
  /** Ends the run in a step in which no model is asked, if a call waits. */
  prepareStep: (options: any) => Promise<any>;
}

const isConditions = (value: unknown) => [value].flat().every((one) => typeof one === "function");
const schema = optionalOptions({
  stopWhen: { test: isConditions, fix: "must be a stop condition, or a list of stop conditions" },
  prepareStep: "function",
  whileWaiting,
  for: { oneOf: ["any", "person"] },
});

/**
 * Ends the loop of an agent when a call waits. In the next step a model that says nothing takes the place of the
 * agent's: no tokens are used, `finishReason` is `"other"`, `rawFinishReason` is `"waiting"`, and there is no
 * structured output. Nothing else changes.
 *
 * @example
 * await generateText({ model, tools, messages, ...stopWhenWaiting({ stopWhen: stepCountIs(10) }) });
 *
 * @example <caption>AI SDK takes waiting calls for finished ones, so a `useChat` that sends by itself looks for them.</caption>
 * const waits = ({ parts }: UIMessage) =>
 *   parts.some((part) => "output" in part && waitingCallOf(part.output) !== undefined);
 * const sendAutomaticallyWhen = (chat: { messages: UIMessage[] }) =>
 *   !chat.messages.slice(-1).some(waits) && lastAssistantMessageIsCompleteWithToolCalls(chat);
 *
 * @param options the application's own `stopWhen` and `prepareStep`, which go in here instead of beside it
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function stopWhenWaiting(options: StopWhenWaitingOptions = {}): StoppedWhenWaiting {
  const { stopWhen, prepareStep, whileWaiting: mode, for: what } = checkOptions(schema, options);
  return {
    ...(stopWhen && { stopWhen: [afterSilence, ...[stopWhen].flat()] as AnyStopCondition[] }),
    prepareStep: async (step: Parameters<AnyPrepareStep>[0]) => {
      const failure = currentToolCall()?.failure;
      if (failure !== undefined) throw failure;
      return stepWhileWaiting(step.messages, mode, what) ?? (await prepareStep?.(step));
    },
  };
}

/** Calls of a provider's own tools and messages from outside can keep a loop going after a silent step. */
function afterSilence({ steps }: Pick<OfAnyTools, "steps">): boolean {
  return steps.slice(-1).some(isSilent);
}

/** The step in which the model is not asked, because a call waits; `undefined` if it is asked. */
function stepWhileWaiting(
  messages: readonly unknown[],
  mode: WhileWaiting = "reply",
  what: "any" | "person" = "any",
) {
  const ends = ({ isOfServer }: Placeholder) => what === "any" || !isOfServer;
  const hasWritten = lastSpeaker(messages) === "user";
  if (mode === "hold") {
    const names = findPlaceholders(messages)
      .filter(ends)
      .map(({ toolName }) => toolName);
    if (names.length === 0) return undefined;
    return hasWritten ? stepWith(heldText(names)) : silentStep;
  }
  if (hasWritten) return undefined;
  const said = messages.findLastIndex((message) => ownField(message, "role") === "assistant");
  // The model shall say what it has to say about a call that it has made again.
  return findPlaceholders(messages.slice(said + 1)).some((one) => !one.repeats && ends(one))
    ? silentStep
    : undefined;
}

/** For the user. */
function heldText(toolNames: readonly string[]): string {
  return `This conversation goes on when the call of ${[...new Set(toolNames)].join(", ")} is done, which still waits.`;
}

/** What it reads of a loop's steps, with any tools. */
interface Step {
  readonly toolResults: readonly { readonly output: unknown }[];
  readonly response: { readonly modelId: string };
}

/**
 * A stop condition of AI SDK 6 and 7: the loop ends after a step in which a call began to wait. AI SDK
 * does not ask a stop condition after calls that were approved; `stopWhenWaiting` ends the loop there too.
 *
 * @example
 * await generateText({ model, tools, messages, stopWhen: [isWaiting(), stepCountIs(10)] });
 */
export function isWaiting(): (options: { readonly steps: readonly Step[] }) => boolean {
  return ({ steps }) => {
    const last = steps.at(-1);
    if (last === undefined) return false;
    return isSilent(last) || last.toolResults.some(({ output }) => isNewPlaceholder(output));
  };
}

function isNewPlaceholder(output: unknown): boolean {
  const call = waitingCallOf(output);
  return call !== undefined && call.repeats !== true;
}

/** A specification of language models that AI SDK 6 and 7 take. */
type LanguageModelV3 = Extract<LanguageModel, { readonly specificationVersion: "v3" }>;
/** Said here, because declarations must not name the type of a package below AI SDK. */
interface FinishReason {
  readonly unified: "stop" | "other";
  readonly raw: string | undefined;
}

const modelId = "durable-mcp/waiting";

const usage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
// Not "stop": AI SDK would then read a structured output in no text.
const waits: FinishReason = { unified: "other", raw: "waiting" };

/**
 * A language model that says nothing, or one text, at once and at no cost. AI SDK calls the model after some tools
 * without asking anybody, so a loop can only be stopped there by the model itself.
 */
const fixedModel = (text: string, finishReason: FinishReason): LanguageModelV3 => ({
  specificationVersion: "v3",
  provider: "durable-mcp",
  modelId,
  // It reads no file, so none is downloaded for it.
  supportedUrls: { "*/*": [/^/] },
  async doGenerate({ abortSignal }) {
    // As any other model. For streams AI SDK looks itself.
    abortSignal?.throwIfAborted();
    const content = text === "" ? [] : [{ type: "text", text } as const];
    return { content, finishReason, usage, warnings: [] };
  },
  async doStream() {
    return {
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          if (text !== "") {
            controller.enqueue({ type: "text-start", id: "0" });
            controller.enqueue({ type: "text-delta", id: "0", delta: text });
            controller.enqueue({ type: "text-end", id: "0" });
          }
          controller.enqueue({ type: "finish", finishReason, usage });
          controller.close();
        },
      }),
    };
  },
});

/** What a `prepareStep` gives for a step in which the model says a text of ours. It cannot obey a tool choice. */
export const stepWith = (
  text: string,
  finishReason: FinishReason = waits,
): { readonly model: LanguageModel; readonly toolChoice: "auto" } => ({
  model: fixedModel(text, finishReason),
  toolChoice: "auto",
});
export const silentStep = stepWith("");

/** Whether the model of a step was the silent one. */
function isSilent(step: { readonly response: { readonly modelId: string } }): boolean {
  return step.response.modelId === modelId;
}
