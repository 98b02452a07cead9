import { type WaitingCall, type WaitingEntry, waitingCallOf } from "@durable-mcp/core/waiting";
import type { ChatMessage } from "./chat-message";

/** What a person has to do before the agent can go on: questions, and the sign-ins that calls wait for. */
export function blockingEntries(waiting: readonly WaitingEntry[]): WaitingEntry[] {
  const waitsForSignIn = (name: string) =>
    waiting.some(({ type, connection }) => {
      return type === "call-waits-for-sign-in" && connection === name;
    });
  return waiting.filter((entry) => {
    return entry.type === "sign-in" ? waitsForSignIn(entry.connection) : entry.type === "question";
  });
}

/** The calls that their server works on: nobody has to do anything for them. */
export function workingCalls(waiting: readonly WaitingEntry[]): WaitingCall[] {
  return waiting.filter(
    (entry): entry is WaitingCall => entry.type === "task" || entry.type === "stream",
  );
}

/** The ids of calls that have a placeholder in the place of a result. */
export function placeholdersOf(message: ChatMessage): string[] {
  if (message.role !== "assistant") return [];
  return message.parts.flatMap((part) => {
    const call = "output" in part ? waitingCallOf(part.output) : undefined;
    return call ? [call.id] : [];
  });
}
