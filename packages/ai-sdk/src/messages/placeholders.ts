import { isRecord, sameJson, waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingPlace } from "@durable-mcp/sessions";
import { ownField } from "@durable-mcp/sessions/internal";
import {
  type ModelOutput,
  waitingIn,
  type WaitingMark,
  waitsForServer,
} from "../tool-set/model-output.ts";

/** A place in the messages where a call's result is missing, because the call waits. */
export interface Placeholder extends WaitingPlace {
  /** Whether its call waits for its server alone. */
  readonly isOfServer?: true | undefined;
}

/**
 * Finds the placeholders in all messages, model messages or UI messages, in their order. What has another shape
 * is skipped: messages come from browsers.
 */
export function findPlaceholders(messages: readonly unknown[]): Placeholder[] {
  const found: Placeholder[] = [];
  replacePlaceholders(messages, (placeholder, part) => {
    found.push(placeholder);
    return part;
  });
  return found;
}

/** The ids of the calls whose placeholders are in messages. */
export const idsIn = (messages: readonly unknown[]): string[] =>
  findPlaceholders(messages).map(({ id }) => id);

type Part = Readonly<Record<string, unknown>>;

/**
 * Replaces the parts of messages that are placeholders, in copies. A message without a replaced part stays the
 * same object.
 *
 * @param replace gives the part for the place, or the same
 */
function replacePlaceholders<MESSAGE>(
  messages: readonly MESSAGE[],
  replace: (placeholder: Placeholder, part: Part, form: "model" | "ui") => Part,
): MESSAGE[] {
  const inputs = new Map<unknown, unknown>();
  return messages.map((message) => {
    const inMessage = (key: "content" | "parts", form: "model" | "ui") => {
      const parts = ownField(message, key);
      if (!Array.isArray(parts)) return message;
      let isReplaced = false;
      const replaced = parts.map((part: unknown) => {
        const placeholder = form === "model" ? inToolMessage(part, inputs) : inUIMessage(part);
        if (placeholder === undefined || !isRecord(part)) return part;
        const replacement = replace(placeholder, part, form);
        isReplaced ||= replacement !== part;
        return replacement;
      });
      return isReplaced ? { ...message, [key]: replaced } : message;
    };
    const role = ownField(message, "role");
    if (role === "tool") return inMessage("content", "model");
    if (role !== "assistant") return message;
    keepInputs(ownField(message, "content"), inputs);
    return inMessage("parts", "ui");
  });
}

/** Keeps the arguments of the calls in an assistant's model message. An id that comes again has the later ones. */
function keepInputs(content: unknown, inputs: Map<unknown, unknown>): void {
  if (!Array.isArray(content)) return;
  for (const part of content as readonly unknown[]) {
    if (ownField(part, "type") !== "tool-call") continue;
    inputs.set(ownField(part, "toolCallId"), ownField(part, "input"));
  }
}

function inToolMessage(part: unknown, inputs: ReadonlyMap<unknown, unknown>) {
  if (ownField(part, "type") !== "tool-result") return undefined;
  const toolCallId = ownField(part, "toolCallId");
  const call = waitingIn(ownField(part, "output"));
  return asPlaceholder(call, toolCallId, ownField(part, "toolName"), inputs.get(toolCallId));
}

const staticTool = "tool-";
/** More than the ids of waiting calls have. A longer one would be a key that not every store takes. */
const maxIdLength = 256;

function inUIMessage(part: unknown) {
  const type = ownField(part, "type");
  if (typeof type !== "string" || ownField(part, "state") !== "output-available") return undefined;
  const isStatic = type.startsWith(staticTool);
  if (!isStatic && type !== "dynamic-tool") return undefined;
  const toolName = isStatic ? type.slice(staticTool.length) : ownField(part, "toolName");
  const call = waitingCallOf(ownField(part, "output"));
  return asPlaceholder(call, ownField(part, "toolCallId"), toolName, ownField(part, "input"));
}

function asPlaceholder(
  call: WaitingMark | undefined,
  toolCallId: unknown,
  toolName: unknown,
  input: unknown,
): Placeholder | undefined {
  const { id, repeats, type } = call ?? {};
  if (id === undefined || id === "" || id.length > maxIdLength) return undefined;
  const isWhole = typeof toolCallId === "string" && typeof toolName === "string";
  if (!isWhole) return undefined;
  const isOfServer = waitsForServer({ type }) && { isOfServer: true as const };
  return { id, ...(repeats && { repeats }), ...isOfServer, toolCallId, toolName, input };
}

/** The result that takes the place of a placeholder, for both kinds of messages. */
export interface FilledIn {
  /** For model messages; of type `error-text` for a call that failed. */
  readonly modelOutput: ModelOutput;
  /** For UI messages. */
  readonly ui:
    | { readonly state: "output-available"; readonly output: unknown }
    | { readonly state: "output-error"; readonly errorText: string };
  /** Whether it is a placeholder, which says how the call is by now. */
  readonly isOpen?: true | undefined;
}

/** How messages end: whether a user has written, or the model has spoken, after all calls. */
export function lastSpeaker(messages: readonly unknown[]): "user" | "model" | undefined {
  const last = messages.at(-1);
  const role = ownField(last, "role");
  if (role !== "assistant") return role === "user" ? "user" : undefined;
  const parts = ownField(last, "parts");
  // Of UI messages the results are parts.
  const spoken = Array.isArray(parts)
    ? parts.findLast((part) => ownField(part, "type") !== "step-start")
    : last;
  return ownField(spoken, "toolCallId") === undefined ? "model" : undefined;
}

/**
 * Puts results in the places of placeholders, in model messages or UI messages. The given messages stay as they are:
 * those that change are copied, and the others are the same objects.
 *
 * @param find gives the result for a place; `undefined` if the call still waits
 */
export function fillIn<MESSAGE>(
  messages: readonly MESSAGE[],
  find: (placeholder: Placeholder) => FilledIn | undefined,
): MESSAGE[] {
  return replacePlaceholders(messages, (placeholder, part, form) => {
    const filled = find(placeholder);
    const own = form === "model" ? filled?.modelOutput : ownField(filled?.ui, "output");
    if (filled === undefined || (filled.isOpen && sameJson(part["output"], own))) return part;
    if (form === "model") return { ...part, output: filled.modelOutput };
    // What AI SDK itself makes of a part: either an output or an error, and nothing preliminary.
    const { output: _output, errorText: _errorText, preliminary: _preliminary, ...kept } = part;
    return { ...kept, ...filled.ui };
  });
}
