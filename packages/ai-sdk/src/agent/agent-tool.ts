import type { FlexibleSchema, ModelMessage, Tool, UIMessage } from "ai";
import { invalidOption, isRecord } from "@durable-mcp/core/internal";
import {
  beginAgent,
  checkOptions,
  currentScope,
  executeInRun,
  optionalOptions,
  resultsInContext,
  type RunScope,
  withAgentName,
} from "@durable-mcp/sessions/internal";
import type { ConnectionRun } from "../face/connection-run.ts";
import { type ConnectionMode, withConnections } from "@durable-mcp/sessions";
import {
  answerIn,
  type Messages,
  messagesOfStream,
  responseMessagesOf,
  withoutComment,
} from "./agent-messages.ts";
import { withPlaceholders } from "../messages/bind-tools.ts";
import { idsIn } from "../messages/placeholders.ts";

/** An agent of AI SDK 6 or 7, or of this package, with any tools and options. */
interface AnyAgent {
  readonly id?: string | undefined;
  readonly tools: any;
  generate(parameters: any): PromiseLike<{ readonly text: string }>;
  stream(parameters: any): PromiseLike<object>;
}

/** What a tool call knows when it makes its agent. */
interface AgentUse {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Options of `agentTool`. */
export interface AgentToolOptions<INPUT> {
  /** For the model of the agent that calls the tool. */
  readonly description: string;
  /**
   * The sub-agent, or a function that makes it for a call, in the run (`currentConnections()`). With AI SDK 6 its `id`,
   * or else `description`, names the tool of a waiting call: do not change it while calls wait.
   */
  readonly agent: AnyAgent | ((input: INPUT, use: AgentUse) => AnyAgent | PromiseLike<AnyAgent>);
  /** The schema of the tool's input. @default an object with a text `prompt` */
  readonly inputSchema?: FlexibleSchema<INPUT> | undefined;
  /** What the sub-agent is told. @default `input.prompt` */
  readonly prompt?: ((input: INPUT) => string | ModelMessage[]) | undefined;
  /** The call options of the sub-agent, such as `{ sessionId, principal }` of a durable agent. @default none */
  readonly options?: ((input: INPUT) => object) | undefined;
  /** Which sessions the sub-agent shares, as with `withConnections`. @default it inherits all */
  readonly connections?: Readonly<Record<string, ConnectionMode>> | undefined;
  /** Whether the tool streams the sub-agent's message to the page. Its last text is for the model. @default false */
  readonly stream?: boolean | undefined;
  /**
   * Keeps the messages of a sub-agent while a call of it waits, under a key that names the tool call, the agent session
   * and the principal. A durable agent's are always kept beside the waiting call.
   *
   * @default beside the waiting call, up to 500,000 characters
   */
  readonly history?: AgentHistory | undefined;
}

/** The application's own place for the messages of sub-agents. */
export interface AgentHistory {
  /** Loads what was saved last under the key. */
  load(key: string): Promise<ModelMessage[]>;
  /** Saves the messages, in place of earlier ones. */
  save(key: string, messages: ModelMessage[]): Promise<void>;
}

const schema = optionalOptions(
  {
    ...{ inputSchema: "anything", prompt: "function", options: "function" },
    ...{ connections: "object", stream: "flag", history: "object" },
  },
  {
    description: "text",
    agent: { either: ["object", "function"], is: "an agent, or a function that makes one" },
  },
);

/**
 * Makes a tool of a sub-agent, for `generateText`, `streamText` and agents of AI SDK 6 and 7. While a call of the
 * sub-agent waits, the tool's result is a placeholder, and `sessions.waiting` lists the call with its `path`. `resume`
 * executes the tool again: the sub-agent goes on from its own messages, and its answer replaces the placeholder.
 *
 * @example
 * const research = agentTool({ description: "Researches a topic.", agent: researcher });
 * const result = await generateText({ model, messages, tools: { ...(await run.tools()), research } });
 *
 * @returns a tool whose output is the sub-agent's text; with `stream` its UI message
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function agentTool<INPUT = { prompt: string }>(
  options: AgentToolOptions<INPUT> & { readonly stream: true },
): Tool<INPUT, UIMessage>;
export function agentTool<INPUT = { prompt: string }>(
  options: AgentToolOptions<INPUT>,
): Tool<INPUT, string>;
export function agentTool(given: AgentToolOptions<any>): Tool {
  const options = checkOptions(schema, given);
  const { description, inputSchema = promptSchema, stream } = options;
  const { id } = options.agent as { readonly id?: unknown };
  const toolName = typeof id === "string" ? id : description;
  const execute = (input: unknown, use: AgentUse): unknown => {
    const scope = currentScope();
    const { toolCallId } = use;
    const call = { toolName, toolCallId, input, waitingIn: idsIn };
    return executeInRun(scope, call, () =>
      stream ? streamed(options, input, use, scope) : generated(options, input, use, scope),
    );
  };
  const tool: Tool = {
    ...{ description, inputSchema, execute },
    ...(stream && {
      toModelOutput: ({ output }: { output: UIMessage | undefined }) => ({
        type: "text" as const,
        value: output?.parts.findLast((part) => part.type === "text")?.text ?? "",
      }),
    }),
  };
  return withAgentName(withPlaceholders(tool), toolName);
}

const promptInput = {
  ...{ type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
  additionalProperties: false,
};
/** @see https://standardschema.dev/json-schema as of 2026-11-29 */
const promptSchema: FlexibleSchema<{ prompt: string }> = {
  "~standard": {
    version: 1,
    vendor: "durable-mcp",
    jsonSchema: { input: () => promptInput, output: () => promptInput },
    validate: (value: unknown) =>
      isRecord(value) && typeof value["prompt"] === "string"
        ? { value: { prompt: value["prompt"] } }
        : { issues: [{ message: "prompt must be a text", path: ["prompt"] }] },
  },
};

type Options = AgentToolOptions<any>;
type Scope = RunScope | undefined;

async function generated(options: Options, input: unknown, use: AgentUse, scope: Scope) {
  const work = async () => {
    const call = await prepare(options, input, use);
    if ("answer" in call) return call.answer;
    const result = await call.agent.generate(call.parameters);
    await call.keep(responseMessagesOf(result));
    return result.text;
  };
  const { connections: modes } = options;
  if (modes === undefined || scope === undefined) return await work();
  return await withConnections(modes, work, { abortSignal: use.abortSignal });
}

async function* streamed(options: Options, input: unknown, use: AgentUse, scope: Scope) {
  const { connections: modes } = options;
  const { abortSignal } = use;
  const nested = modes && scope && (await scope.nest({ modes, abortSignal }));
  const inNested = <T>(work: () => T) => (nested ? nested.enter(work) : work());
  try {
    const { readUIMessageStream } = await import("ai");
    const call = await inNested(() => prepare(options, input, use));
    if ("answer" in call) {
      const { answer: text } = call;
      if (text !== undefined)
        yield { id: use.toolCallId, role: "assistant", parts: [{ type: "text", text }] };
      return;
    }
    const result = (await inNested(() => call.agent.stream(call.parameters))) as {
      toUIMessageStream(): ReadableStream;
    };
    const messages = messagesOfStream([], result);
    yield* resultsInContext(inNested, readUIMessageStream({ stream: result.toUIMessageStream() }));
    await call.keep(await messages);
  } finally {
    await nested?.run.dispose();
  }
}

/** The sub-agent's call. Or its answer, if it has given one; `undefined` while it has nothing to go on with. */
async function prepare(options: Options, input: any, { abortSignal, toolCallId }: AgentUse) {
  const { agent: given, prompt = (asked) => asked.prompt, history } = options;
  const agent =
    typeof given === "function" ? await given(input, { abortSignal, toolCallId }) : given;
  const own = { abortSignal, ...(options.options && { options: options.options(input) }) };
  const asked = prompt(input);
  const first = (
    typeof asked === "string" ? [{ role: "user", content: asked }] : asked
  ) as Messages;
  // A durable agent keeps and resumes its own messages.
  if ("waiting" in agent || "sessions" in agent) {
    if (history)
      throw invalidOption(
        "history",
        "cannot be given with a durable agent, which keeps its messages",
      );
    return { agent, parameters: { ...own, messages: first }, keep: async () => undefined };
  }
  const inTool = beginAgent();
  /** Names the tool call among those of all agent sessions and principals. */
  const key = async () => await inTool!.key(input, currentScope()?.stored?.owner);
  const load = async () => (await history!.load(await key())) as unknown as Messages;
  const before = inTool?.history ?? (inTool?.goesOn && history ? await load() : first);
  const run = currentScope()?.run as ConnectionRun<any> | undefined;
  const resumed = await run?.waiting.resume(before, {
    ...{ tools: agent.tools, whileWaiting: "hold" },
  });
  const messages = resumed?.messages ?? before;
  const keep = async (response: Messages) => {
    const all = [...messages, ...response];
    const kept = inTool?.waits ? withoutComment(all) : all;
    inTool?.keep(kept, history !== undefined);
    if (inTool?.waits || inTool?.goesOn) await history?.save(await key(), kept as never);
  };
  if (resumed?.goesOn === false) {
    await keep([]);
    return { answer: undefined };
  }
  // A process ended after the application had saved the last messages.
  const answer = inTool?.goesOn ? answerIn(messages) : undefined;
  if (answer !== undefined) return { answer };
  return { agent, parameters: { ...own, messages }, keep };
}
