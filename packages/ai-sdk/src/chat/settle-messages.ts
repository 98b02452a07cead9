import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import type { UIMessage } from "ai";
import type { AgentCall } from "../agent/before-call.ts";
import { findPlaceholders } from "../messages/placeholders.ts";
import type { FoundAnswer } from "./answer-record.ts";
import type { CallEnd, NotedCall } from "./noted-calls.ts";

type Messages = readonly UIMessage[];
type Part = UIMessage["parts"][number];

const errorText =
  "The answer of this call is lost: what made it has ended. Nobody knows whether it was carried out; check before you call again.";
const lost: CallEnd = { state: "output-error", errorText };

/**
 * The saved messages, with what only the record of an unfinished answer has.
 *
 * @param waiting entries of the chat: a call that waits in the store is not lost
 */
export function withAnswer(
  saved: Messages,
  found: FoundAnswer | undefined,
  waiting: readonly WaitingEntry[] = [],
): Messages {
  const { messages: said = [], calls, state } = found ?? {};
  const messages = [...saved, ...said.filter((message) => !hasMessage(saved, message))];
  return calls === undefined || state === "yes"
    ? messages
    : settleMessages(messages, calls, waiting);
}

export function hasMessage(messages: Messages, { id }: UIMessage): boolean {
  return messages.some((message) => message.id === id);
}

/**
 * Gives calls of the last answer that have no result one: what was noted of their end, or that it is lost.
 *
 * @param calls those that had begun, also if the answer lacks them; without it, all that the answer has
 * @param waiting entries of the chat, in the order in which they began: a call among them gets its placeholder
 */
export function settleMessages(
  messages: Messages,
  calls?: readonly NotedCall[],
  waiting: readonly WaitingEntry[] = [],
): Messages {
  const endOf = ({ toolCallId }: { readonly toolCallId: string }): CallEnd => {
    const noted = calls?.findLast((call) => call.toolCallId === toolCallId)?.end;
    if (noted) return noted;
    const isOwn = (entry: WaitingEntry): entry is WaitingCall =>
      "path" in entry ? false : "toolCallId" in entry && entry.toolCallId === toolCallId;
    // Models give ids again: the call of this answer is the latest.
    const call = waiting.findLast(isOwn);
    return call ? { state: "output-available", output: waitingResult(call) } : lost;
  };
  const last = messages.at(-1);
  const answer = last?.role === "assistant" ? last : undefined;
  const settled = (answer?.parts ?? []).flatMap((part): Part[] => {
    if (!("toolCallId" in part) || hasResult(part)) return [part];
    const isLost = calls?.some((call) => isOf(part, call)) ?? true;
    if (!isLost) return [part];
    if (part.state === "input-streaming") return [];
    // AI SDK takes no result of a call that lacks its approval.
    const { approval, ...call } = { approval: undefined, ...part };
    const isApproved = approval?.approved === true;
    return [{ ...call, ...(isApproved && { approval }), ...endOf(part) } as Part];
  });
  const missing = calls?.filter((call) => !settled.some((part) => isOf(part, call))) ?? [];
  const added = missing.map(({ toolCallId, toolName, input }): Part => {
    const call = { toolCallId, toolName, input };
    return { type: "dynamic-tool", ...call, ...endOf(call) };
  });
  if (answer === undefined && added.length === 0) return messages;
  const step: Part[] = added.length > 0 ? [{ type: "step-start" }] : [];
  // The same each time that it is read.
  const { id = `${last?.id}-answer`, ...rest } = answer ?? {};
  const next: UIMessage = {
    ...rest,
    id,
    role: "assistant",
    parts: [...settled, ...step, ...added],
  };
  return [...(answer ? messages.slice(0, -1) : messages), next];
}

function isOf(part: Part, { toolCallId }: AgentCall): boolean {
  return "toolCallId" in part && part.toolCallId === toolCallId;
}

function hasResult(part: Part): boolean {
  const states: unknown[] = ["output-available", "output-error", "output-denied"];
  return "state" in part && states.includes(part.state);
}

/** The user's word on a call that needs approval. */
export interface Approval {
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** @returns `undefined` if no call of the last answer needs it */
export function withApproval(messages: Messages, { id, ...said }: Approval): Messages | undefined {
  let isFound = false;
  const next = mapLastParts(messages, (part) => {
    if (!("approval" in part) || part.approval?.id !== id) return part;
    isFound = true;
    if (part.state !== "approval-requested") return part;
    return {
      ...part,
      state: "approval-responded",
      approval: { ...part.approval, ...said },
    } as Part;
  });
  return isFound ? next : undefined;
}

/** What the user says instead of an approval denies it. */
export function withoutApprovals(messages: Messages): Messages {
  const said = { approved: false, reason: "The user has said something else." };
  return mapLastParts(messages, (part) =>
    isPending(part)
      ? ({ ...part, state: "output-denied", approval: { ...part.approval, ...said } } as Part)
      : part,
  );
}

function isPending(part: Part): part is Part & { readonly approval: object } {
  return "toolCallId" in part && part.state === "approval-requested";
}

function mapLastParts(messages: Messages, change: (part: Part) => Part): Messages {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return messages;
  return [...messages.slice(0, -1), { ...last, parts: last.parts.map(change) }];
}

/** Whether the last answer lacks the result of a call. */
export function lacksResult(messages: Messages, call: AgentCall): boolean {
  const { role, parts = [] } = messages.at(-1) ?? {};
  return role !== "assistant" || !parts.some((part) => isOf(part, call) && hasResult(part));
}

/** Whether a call of the last answer waits for the user's word. */
export function needsApproval(messages: Messages): boolean {
  const { role, parts = [] } = messages.at(-1) ?? {};
  return role === "assistant" && parts.some(isPending);
}

/** Whether there is nothing to go on with: the model has said the last word and no call waits, or one needs approval. */
export function isAnswered(messages: Messages): boolean {
  const { role, parts = [] } = messages.at(-1) ?? { role: "assistant" };
  const step = parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1);
  if (needsApproval(messages)) return true;
  const isSpoken = role === "assistant" && !step.some((part) => "toolCallId" in part);
  return isSpoken && findPlaceholders(messages).length === 0;
}
