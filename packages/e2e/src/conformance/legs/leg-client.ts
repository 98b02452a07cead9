import {
  type AnsweredCall,
  type InputResponses,
  type WaitingCall,
  waitingCallOf,
} from "@durable-mcp/core/waiting";
import { type ListedTool, textOf } from "../../clients/own-client.ts";

/** What became of a call: the text of its answer, or the server asks a person and the call waits. */
export type Called = { readonly text: string } | { readonly waiting: WaitingCall };

/** What the scenarios of revision 2026-07-28 need of a client, which lives for one leg. */
export interface LegClient {
  listTools: () => Promise<ListedTool[]>;
  callTool: (name: string, args: Record<string, unknown>) => Promise<Called>;
  /** The calls that wait, whichever process made them. */
  waiting: () => Promise<readonly WaitingCall[]>;
  /** Sends a person's answers to a call that waits. */
  answer: (id: string, responses: InputResponses) => Promise<Called>;
  /** Looks at a call that its server keeps, if it is due. */
  check: (id: string) => Promise<Called>;
  /** Reads the first resource and gets the first prompt of the server. */
  readFirst: () => Promise<void>;
  close: () => Promise<void>;
}

interface LegClientOptions {
  readonly url: string;
  /** The file of the store, which all legs of a scenario share. */
  readonly storePath: string;
  /** Of a server with sessions. @default the connection's own */
  readonly session?: "stateful" | undefined;
  /** How long a slow answer is waited for, in milliseconds. @default as long as a step does */
  readonly afterMs?: number | undefined;
}

export type OpenLegClient = (options: LegClientOptions) => Promise<LegClient>;

/** What a client made of a call: its result, or the placeholder of one that waits. */
export function calledOf(raw: unknown): Called {
  const waiting = waitingCallOf(raw);
  return waiting ? { waiting } : { text: textOf(raw) };
}

/** What became of a call after an answer. */
export function answeredOf({ call, result }: AnsweredCall): Called {
  if (call.state === "waiting") return { waiting: call };
  if (call.state !== "settled") throw new Error(`the answered call is ${call.state}`);
  return { text: textOf(result) };
}
