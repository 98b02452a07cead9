import type { WaitingEntry } from "@durable-mcp/core/waiting";
import type { ModelMessage } from "ai";
import type { Turn } from "@durable-mcp/testing/ai-sdk";
import type { StorePlace } from "../durable/store-place.ts";

/** What all processes of an application with an agent agree on: plain JSON. */
export interface AgentApplication {
  readonly place: StorePlace;
  /** The sealing key, in base64. */
  readonly key: string;
  readonly redirectUrl: string;
  /** Of the locked notebook. */
  readonly url: string;
  readonly session: "stateful" | "stateless";
}

/** What one process does. */
export type AgentWork =
  /** A step of the agent, with all that the model says in it. */
  | { readonly type: "generate"; readonly messages: ModelMessage[]; readonly turns: Turn[] }
  | { readonly type: "waiting" }
  /** The application's two routes, and a user's browser between them. */
  | { readonly type: "sign in"; readonly startUrl: string }
  | { readonly type: "end all" };

export interface AgentTask {
  readonly application: AgentApplication;
  readonly work: AgentWork;
  /** The principal's id, and the login at the authorization server. */
  readonly user: string;
  readonly sessionId: string;
  readonly agent?: string;
  readonly required?: boolean;
  readonly onUnavailable?: "throw";
}

/** What it says. Missing is what its work has not. */
export interface AgentReport {
  readonly text?: string;
  readonly isWaiting?: boolean;
  /** With what came to them in this step. */
  readonly messages?: ModelMessage[];
  /** How often the model was asked, with which tools, and the results it was told last. */
  readonly model?: { readonly calls: number; readonly tools: string[]; readonly told: string[] };
  readonly waiting?: WaitingEntry[];
  /** Of the callback. */
  readonly status?: number;
  /** Where the user is sent to sign in: the one place for a `state`. */
  readonly location?: string;
  readonly failure?: { readonly code: string; readonly startUrl: string | undefined };
  /** Requests to the notebook: the method and the status of the answer. */
  readonly requests: string[];
  /** Digests of access tokens and session ids that were in them. */
  readonly secrets: string[];
}
