import { DBOS } from "@dbos-inc/dbos-sdk";
import type { SealingKeys } from "@durable-mcp/core/sealing";
import type { ConnectionProvider } from "@durable-mcp/ai-sdk";
import { generateText, type LanguageModel, type ModelMessage, type ToolSet } from "ai";
import { carryConnections } from "./carried-connections.ts";
import { describeCall } from "../steps/describe-call.ts";
import { runStepOnce } from "./run-step-once.ts";
import { callTool, interruptedCall, type WantedCall } from "./tool-call.ts";

/** What a run is started with. On whose behalf it is says DBOS's `authenticatedUser`. */
export interface AgentRunInput {
  chatId: string;
  messages: ModelMessage[];
  /** What the run before this one in the chat returned. */
  sealed?: string | undefined;
}

export interface AgentRunResult {
  /** The conversation, this run included. */
  messages: ModelMessage[];
  text: string;
  /** For the next run in the chat. */
  sealed: string;
}

/** A step that was carried out in this process, and what it gave. */
export type OnStep = (name: string, outcome: string) => void;

const maxModelCalls = 20;

/**
 * Registers the workflow: an agent of which each model call and each tool call is a step. To be
 * called before `DBOS.launch()`, in every process.
 */
export function registerAgentWorkflow({
  provider,
  keys,
  issuer,
  model,
  safeTools,
  onStep,
}: {
  provider: ConnectionProvider;
  keys: SealingKeys;
  /** Who says who the user is. */
  issuer: string;
  model: LanguageModel;
  /** Tools that may run twice, by the agent's names of them. */
  safeTools: readonly string[];
  onStep: OnStep;
}): (input: AgentRunInput) => Promise<AgentRunResult> {
  const runAgent = async (input: AgentRunInput): Promise<AgentRunResult> => {
    const principal = { type: "user", issuer, id: DBOS.authenticatedUser } as const;
    const bound = { keys, sessionId: input.chatId, principal };
    const connections = carryConnections(provider, bound);
    const messages = [...input.messages];

    // First of all, so that no later step that fails or dies takes a new session with it.
    const open = async () => {
      const opened = await connections.use(input.sealed, async (tools) => Object.keys(tools));
      onStep("open", `${opened.result.length} tools`);
      return opened.sealed;
    };
    let sealed = await DBOS.runStep(open, { name: "open", retriesAllowed: true });

    for (let count = 0; count < maxModelCalls; count += 1) {
      const ask = async () => {
        const answer = await connections.use(sealed, (tools) => askModel(model, messages, tools));
        const wanted = answer.result.calls.map((call) => describeCall(call.toolName, call.input));
        onStep("model", answer.result.text || wanted.join(", "));
        return answer;
      };
      const asked = await DBOS.runStep(ask, { name: "model", retriesAllowed: true });
      const { text, calls } = asked.result;
      messages.push(...asked.result.messages);
      sealed = asked.sealed;
      if (calls.length === 0) return { messages, text, sealed };

      for (const call of calls) {
        const before = sealed;
        const name = call.toolName;
        const shown = describeCall(name, call.input);
        const run = async () => {
          const made = await connections.use(before, (tools) => callTool(tools, call));
          onStep(shown, textOf(made.result));
          return made;
        };
        const interrupted = () => {
          const result = interruptedCall(call);
          onStep(shown, textOf(result));
          return { result, sealed: before };
        };
        const made = safeTools.includes(name)
          ? await DBOS.runStep(run, { name })
          : await runStepOnce(name, { run, interrupted });
        messages.push(made.result);
        sealed = made.sealed;
      }
    }
    throw new Error(`The agent had no answer after ${maxModelCalls} model calls.`);
  };
  return DBOS.registerWorkflow(runAgent, { name: "agent" });
}

/** One call of the model. It is told of the tools, and cannot call them. */
async function askModel(model: LanguageModel, messages: ModelMessage[], tools: ToolSet) {
  const described = Object.entries(tools).map(([name, tool]) => [
    name,
    { ...tool, execute: undefined },
  ]);
  const { text, toolCalls, responseMessages } = await generateText({
    model,
    tools: Object.fromEntries(described) as ToolSet,
    messages,
  });
  const calls: WantedCall[] = toolCalls
    // The AI SDK has answered those with an error already.
    .filter((call) => call.invalid !== true)
    .map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input: input as unknown }));
  return { text, messages: responseMessages, calls };
}

function textOf({ content }: Awaited<ReturnType<typeof callTool>>): string {
  return content
    .flatMap((part) => (part.type === "tool-result" ? [part.output] : []))
    .flatMap((output) => {
      if (output.type === "text" || output.type === "error-text") return [output.value];
      if (output.type !== "content") return [JSON.stringify(output)];
      return output.value.flatMap((each) => (each.type === "text" ? [each.text] : []));
    })
    .join(" ");
}
