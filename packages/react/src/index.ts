"use client";

export {
  type AnswerProblem,
  type PendingButton,
  Question,
  type QuestionParts,
  type QuestionProps,
} from "./question.tsx";
export type { FieldParts } from "./field.tsx";
export type { Choice, QuestionField, QuestionUrl } from "@durable-mcp/core/waiting/form";
export { SignIn, type SignInParts, type SignInProps } from "./sign-in.tsx";
export type { ServerStateOptions } from "./use-server-state.ts";
export type { DurableChatState } from "./page-state.ts";
export type { ChatPhase } from "./chat-view.ts";
export { type DurableChat, type DurableChatOptions, useDurableChat } from "./use-durable-chat.ts";
export { useWaiting, type Waiting, type WaitingOptions, type WaitingState } from "./use-waiting.ts";
