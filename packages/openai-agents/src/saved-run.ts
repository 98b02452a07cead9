import { invalid, shape, type Shaped } from "@durable-mcp/core/internal";
import type { AgentInputItem } from "@openai/agents";

const { anyOf, anyRecord, anyText, exactly, listOf, openRecordOf, when } = shape;

const part = openRecordOf({ type: anyText, "text?": anyText });
const savedCall = openRecordOf({
  ...{ toolName: anyText, callId: anyText, input: when(() => true) },
  /** `asks`: a person has to approve it, and it was not made. `waits` under an id. `over`: with an output. */
  state: exactly("asks", "waits", "over"),
  ...{ "id?": anyText, "output?": anyOf(anyText, listOf(part)) },
});
const saved = openRecordOf({
  ...{ version: exactly(1), state: anyText, history: listOf(anyRecord) },
  ...{ calls: listOf(savedCall), names: listOf(anyText) },
});

/** A call that has held an agent up. */
export type SavedCall = Shaped<typeof savedCall>;
/** A run between two steps. One release of OpenAI Agents reads `state`; the rest outlives it. */
type SavedRun = Shaped<typeof saved> & { readonly history: readonly AgentInputItem[] };

/** @returns the text itself if it is no JSON */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for what `save` has not made */
export function parseSavedRun(text: string): SavedRun {
  const value = jsonIn(text);
  const wrong = saved(value);
  if (wrong === undefined) return value as SavedRun;
  const field = ["saved", ...wrong].join(".");
  throw invalid(field, `${field} is not of save. Give bindAgentsTools what save returned.`);
}

/** As OpenAI Agents names a tool. */
export const agentsNameOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, "_");

const textOf = (output: SavedCall["output"] = "") =>
  typeof output === "string" ? output : output.map(({ text, type }) => text ?? `(${type})`).join();

/** The input of a new run: the history, in which interrupted calls are missing, and these calls with their results. */
export const inputOf = ({ history }: SavedRun, calls: readonly SavedCall[]): AgentInputItem[] => [
  ...history,
  ...calls.flatMap(({ toolName, callId, input, output }): AgentInputItem[] => {
    const name = agentsNameOf(toolName);
    const result = { type: "function_call_result", name, callId, output: textOf(output) } as const;
    const call = { type: "function_call", name, callId, arguments: JSON.stringify(input) } as const;
    return [call, { ...result, status: "completed" }];
  }),
];
