import { waitingCallOf, waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { FlexibleSchema, Tool, ToolResultPart } from "ai";
import type { OfferedTool } from "@durable-mcp/sessions";
import { ownField } from "@durable-mcp/sessions/internal";

/** A tool's result as the model gets it. */
export type ModelOutput = ToolResultPart["output"];
type ContentPart = Extract<ModelOutput, { type: "content" }>["value"][number];

/** Holds the marker of a placeholder among a part's provider options. */
const providerKey = "durable-mcp";

/**
 * A waiting tool's result as the model gets it: words, and a marker in the provider options. Those stay with the
 * part where `_meta` does not: in model messages, and in their JSON. The words are made anew, because a result may come
 * from a browser.
 */
export function waitingModelOutput(result: WaitingResult): ModelOutput & { type: "content" } {
  const call = waitingCallOf(result)!;
  const [text] = waitingResult(call).content;
  const { id: waiting, repeats, type } = call;
  const forServer = waitsForServer(call) && { type };
  const providerOptions = { [providerKey]: { waiting, ...(repeats && { repeats }), ...forServer } };
  return { type: "content", value: [{ ...text, providerOptions }] };
}

/** What a placeholder says of its call. */
export interface WaitingMark extends Pick<WaitingCall, "id" | "repeats"> {
  readonly type?: WaitingCall["type"] | undefined;
}

/** Whether a call waits for its server alone. */
export function waitsForServer({ type }: Pick<WaitingMark, "type">): boolean {
  return type === "task" || type === "stream";
}

/** The waiting call whose placeholder a tool's result for the model is. */
export function waitingIn(output: unknown): WaitingMark | undefined {
  const form = ownField(output, "type");
  const value = ownField(output, "value");
  // AI SDK makes JSON of an output when it is not given the tool, and with it `toModelOutput`.
  if (form === "json") return waitingCallOf(value);
  if (form !== "content" || !Array.isArray(value)) return undefined;
  for (const part of value as readonly unknown[]) {
    const mark = ownField(ownField(part, "providerOptions"), providerKey);
    const [id, repeats] = [ownField(mark, "waiting"), ownField(mark, "repeats")];
    if (typeof id !== "string" || id === "") continue;
    const type = ownField(mark, "type") as WaitingMark["type"];
    return { id, ...(repeats === true && { repeats }), ...(waitsForServer({ type }) && { type }) };
  }
  return undefined;
}

/**
 * A tool's output schema that accepts the placeholder as well. `validateUIMessages` would refuse stored messages
 * in which a call waits.
 */
export function acceptWaiting(schema: FlexibleSchema): FlexibleSchema {
  if ("~standard" in schema) {
    const own = schema["~standard"] as Standard;
    return {
      "~standard": {
        version: 1,
        vendor: providerKey,
        validate: (value: unknown) =>
          waitingCallOf(value) === undefined ? own.validate(value) : { value },
        get jsonSchema() {
          return own.jsonSchema;
        },
      },
    } as FlexibleSchema;
  }
  if (typeof schema === "function") return () => acceptInSchema(schema());
  return acceptInSchema(schema);
}

/** A schema of Standard Schema, as zod and others have it. */
interface Standard {
  readonly validate: (value: unknown) => unknown;
  readonly jsonSchema?: unknown;
}

type AiSdkSchema = Extract<FlexibleSchema, { readonly jsonSchema: unknown }>;

/** The same for a schema of AI SDK. Its JSON Schema may only be made when it is read. */
function acceptInSchema(schema: AiSdkSchema): AiSdkSchema {
  const { validate } = schema;
  if (validate === undefined) return schema;
  const either: typeof validate = (value) =>
    waitingCallOf(value) === undefined ? validate(value) : { success: true, value };
  return Object.create(schema, { validate: { value: either, enumerable: true } }) as AiSdkSchema;
}

/** What AI SDK makes of an output for the model, when the tool does not say. */
export function plainModelOutput(output: unknown): ModelOutput {
  if (typeof output === "string") return { type: "text", value: output };
  return { type: "json", value: (output ?? null) as never };
}

/** What AI SDK's client makes of a tool's result for the model: its content, and nothing that is for the client. */
export function contentModelOutput(result: unknown): ModelOutput {
  const content = ownField(result, "content");
  if (!Array.isArray(content)) return plainModelOutput(result);
  return { type: "content", value: content.map(contentPart) };
}

function contentPart(block: unknown): ContentPart {
  const [type, text] = [ownField(block, "type"), ownField(block, "text")];
  if (type === "text" && typeof text === "string") return { type, text };
  const [data, mediaType] = [ownField(block, "data"), ownField(block, "mimeType")];
  if (type === "image" && typeof data === "string" && typeof mediaType === "string")
    // A part of AI SDK 7, whose client this is.
    return { type: "file", mediaType, data: { type: "data", data } };
  return { type: "text", text: JSON.stringify(block) };
}

/** What the model is told of a connection's result, if it is not what the client's tool says. */
export function toldOutput(
  { noticeFor, mayWait }: Pick<OfferedTool, "noticeFor" | "mayWait">,
  { toModelOutput }: Tool,
): Tool["toModelOutput"] {
  const told: Tool["toModelOutput"] =
    noticeFor &&
    (async (result) => {
      const { output, toolCallId } = result;
      const own = (await toModelOutput?.(result)) ?? ({ type: "json", value: output } as const);
      const text = noticeFor(output, toolCallId);
      return text === undefined ? own : withNote(text, own);
    });
  if (!mayWait) return told;
  return (result) => {
    if (waitingCallOf(result.output)) return waitingModelOutput(result.output as WaitingResult);
    return told?.(result) ?? toModelOutput?.(result) ?? plainModelOutput(result.output);
  };
}

/** A tool's result for the model, with a note before it. */
function withNote(text: string, output: ModelOutput): ModelOutput {
  const note = { type: "text" as const, text };
  switch (output.type) {
    case "content":
      return { ...output, value: [note, ...output.value] };
    case "text":
    case "error-text":
      return { ...output, value: `${text}\n\n${output.value}` };
    case "json":
      return {
        type: "content",
        value: [note, { type: "text", text: JSON.stringify(output.value) }],
      };
    default:
      return output;
  }
}
