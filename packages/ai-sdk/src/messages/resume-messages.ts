import { invalid } from "@durable-mcp/core/internal";
import type { PlaceEnd, Resumption } from "@durable-mcp/sessions";
import {
  checkOptions,
  optionalOptions,
  ownField,
  type RunScope,
} from "@durable-mcp/sessions/internal";
import type { ToolSet } from "ai";
import {
  contentModelOutput,
  plainModelOutput,
  waitingModelOutput,
} from "../tool-set/model-output.ts";
import { bindTools } from "./bind-tools.ts";
import {
  type FilledIn,
  fillIn,
  findPlaceholders,
  idsIn,
  lastSpeaker,
  type Placeholder,
} from "./placeholders.ts";
import { newsIds, newsMessages } from "./news.ts";
import type { ResumedMessages, UserMessage } from "./run-waiting.ts";
import { whileWaiting, type WhileWaiting } from "./stop-when-waiting.ts";

const resumeSchema = optionalOptions({ tools: "object", whileWaiting });

/** `resume` of a run's waiting calls. */
export async function resumeMessages<MESSAGE, TOOLS extends ToolSet>(
  of: Resumption,
  scope: RunScope,
  messages: readonly MESSAGE[],
  options: { readonly tools: TOOLS; readonly whileWaiting?: WhileWaiting | undefined },
): Promise<ResumedMessages<MESSAGE, TOOLS>> {
  const { tools, whileWaiting: mode = "reply" } = checkOptions(resumeSchema, options);
  const places = placesIn(messages);
  const hasWritten = lastSpeaker(messages) === "user";
  const fate = { reply: "join", withdraw: hasWritten ? "withdraw" : undefined, hold: undefined };
  const {
    ends,
    landing: text,
    ...calls
  } = await of.resume({
    ...{ places, tools, messages, waitingIn: idsIn },
    // Nothing may stand after an approval, and with "hold" nobody would read them.
    takesNews: !endsWithApproval(messages) && (mode !== "hold" || places.length === 0),
    stillWaiting: fate[mode] as "join" | "withdraw" | undefined,
  });
  const filled = await Promise.all(ends.map((end, at) => filledIn(end, places[at]!, tools)));
  const inOrder = filled.values();
  const own = fillIn(messages, () => inOrder.next().value);
  const isLanding = text !== "" && lastSpeaker(own) === "model";
  const landed: UserMessage[] = isLanding ? [{ role: "user", content: text }] : [];
  // Of a step that has failed a page has them already.
  const known = newsIds(messages);
  const news = calls.news.filter(({ id }) => !known.has(id));
  const landing = [...landed, ...newsMessages(news)];
  const isOfPage = Array.isArray(ownField(own.at(-1), "parts"));
  const waits = calls.stillWaiting.length > 0;
  return {
    ...{ ...calls, news },
    tools: bindTools(scope, tools),
    messages: isOfPage ? own : [...own, ...(landing as never[])],
    landing,
    goesOn:
      !waits || (mode !== "hold" && (hasWritten || landing.length > 0 || calls.news.length > 0)),
  };
}

/** Of parts of UI messages the states, of model messages the types. */
const approvals: ReadonlySet<unknown> = new Set([
  ...["approval-requested", "approval-responded"],
  ...["tool-approval-request", "tool-approval-response"],
]);

/** Whether the last message has a call that needs an approval, or has just got one. */
function endsWithApproval(messages: readonly unknown[]): boolean {
  const last = messages.at(-1);
  const parts = ownField(last, "parts") ?? ownField(last, "content");
  return (
    Array.isArray(parts) &&
    parts.some((part) => ["type", "state"].some((field) => approvals.has(ownField(part, field))))
  );
}

/** The most calls that may have placeholders in messages. Each costs a read of the store. */
const maxCalls = 1_000;

/**
 * The placeholders in messages, which come from browsers.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for what is no list, and for more calls than a step looks up
 */
function placesIn(messages: readonly unknown[]): Placeholder[] {
  if (!Array.isArray(messages))
    throw invalid("messages", "messages must be a list of model messages or UI messages.");
  const places = findPlaceholders(messages);
  if (new Set(places.map(({ id }) => id)).size <= maxCalls) return places;
  throw invalid(
    "messages",
    `messages have placeholders of more than ${maxCalls} calls. Nothing was looked up; keep the messages that resume gives, or leave out older ones.`,
  );
}

/** What takes a place, in the forms of both kinds of messages; `undefined` as long as its call waits. */
async function filledIn(
  end: PlaceEnd,
  { toolCallId, toolName, input }: Placeholder,
  tools: ToolSet,
): Promise<FilledIn | undefined> {
  if (end.state === "failed") return failedWith(end.error);
  if (end.state === "waits") {
    const output = end.placeholder;
    return (
      output && { modelOutput: waitingModelOutput(output), ui: availableAs(output), isOpen: true }
    );
  }
  const { output, isOfServer } = end;
  const ui = availableAs(output);
  if (isOfServer) return { modelOutput: contentModelOutput(output), ui };
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  try {
    const modelOutput = await tool?.toModelOutput?.({ toolCallId, input, output });
    return { modelOutput: modelOutput ?? plainModelOutput(output), ui };
  } catch (error) {
    return failedWith(error);
  }
}

const availableAs = (output: unknown) => ({ state: "output-available", output }) as const;

function failedWith(error: unknown): FilledIn {
  const text = String(error);
  const message = error instanceof Error ? error.message : text;
  return {
    modelOutput: { type: "error-text", value: text },
    ui: { state: "output-error", errorText: message },
  };
}
