import type { Beside } from "./doubts.ts";
import type { LossPolicy, ResendPolicy } from "../../src/session/session-fetch-options.ts";

/** Every session id of the simulation contains this, so that a leaked one is found. */
export const idMarker = "canary-";

/** What must hold in every schedule, whatever happens in it. */
export const invariants = {
  "own-session":
    "No session id is sent for another principal or URL, or anywhere but in its header.",
  "own-answer": "No answer, and nothing else that belongs to one caller, is delivered to another.",
  "own-cancellation":
    "No cancellation reaches a request that its caller still waits for, where each client has a fetch of its own.",
  "one-initialize": "At most one new session is made for each loss and slot.",
  "one-run": "No call runs twice unless the policy allows it.",
  "slot-kept": "The slot holds what was captured, acknowledged and saved last, until it is lost.",
  "one-outcome": "Every call ends, once, and nothing is rejected unseen.",
  "id-secret": "No session id is in anything that clients, errors or events say.",
  "honest-failure": "What is reported as not carried out was not carried out.",
  "own-version": "Every request on a session carries the protocol version negotiated for it.",
  "question-kept": "A client that learns of a question finds its call in the store.",
  "one-leg":
    "No answer to a question is sent twice, and no call that waits runs twice, unless the tool may.",
  "same-call":
    "Each leg is the call that waits: its name, arguments, headers and principal, its last state and the answer to its own question.",
  "look-due": "No task or stream is looked at before its interval is over.",
  "look-claimed": "No stream is looked at without a claim, except by the client of its call.",
  "claim-kept": "No call is taken from a process that gives signs of life.",
  "answer-kept":
    "What was told of a call stays: its result, its rounds, its end. There is one result at most.",
  "own-result": "The result of a call is what its server answered to it.",
  settleable: "Every call that waits comes to an end, whatever died around it.",
  "state-secret": "No requestState is in anything that applications, errors or events say.",
} as const;

export type Invariant = keyof typeof invariants;

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** How often things happened, so that a reader sees what a run went through. */
export type Counts = Record<string, number>;

/** A request as it goes out on the network. */
export interface WireRequest {
  /** The process, and with it the slot, that it comes from. */
  readonly slot: string;
  readonly url: string;
  readonly method: string;
  /** On whose behalf, as the `authorization` header says. */
  readonly owner: string | undefined;
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
  readonly lastEventId: string | undefined;
  readonly body: string;
  /** The body as JSON. */
  readonly message: any;
  readonly signal: AbortSignal | undefined;
}

/** What came back to the process for a request. */
export type Delivery =
  | "ok"
  /** The answer breaks off after its headers. */
  | "cut"
  | "refused"
  /** What stands before the server has no answer. */
  | "outage"
  /** A server that does not know the session, and does not say so. */
  | "doubt"
  | "definite-loss"
  | "probable-loss"
  | "failed";

/** A session as the server made it. */
export interface IssuedSession {
  readonly id: string;
  readonly url: string;
  readonly owner: string | undefined;
  readonly version: string;
}

/** What a slot should hold, going by what its process was told. */
export interface SlotModel {
  readonly heldId: () => string | undefined;
  readonly hasSavePoint: boolean;
  readonly resend: ResendPolicy;
  readonly onLoss: LossPolicy;
  /** Whether core itself gives up requests. */
  readonly mayTimeOut: boolean;
  /** Whether `onStart` runs: on a session that is acknowledged and not yet saved. */
  isPreparing: boolean;
  current: string | undefined;
  /** Sessions whose loss this process was told of. */
  readonly lost: Set<string>;
  readonly initializing: Set<WireRequest>;
  /** Initialized and still to be acknowledged. */
  opened: string | undefined;
  /** The acknowledgement that met an outage: it may go out once more, and the session may have been given up. */
  unsettled: WireRequest | undefined;
  /** The session whose last ping of core's own was refused. */
  refusedPing: string | undefined;
  beside: Beside | undefined;
  /** Opened beside a session in doubt that was lost otherwise: it may be used, or ended. */
  spare: string | undefined;
  readonly acknowledged: Set<string>;
  /** Lost when a new session was refused, which may have been taken back. */
  readonly restored: Set<string>;
  /** Named by an answer to a request on another session. */
  readonly named: Set<string>;
  /** Sessions that the save point was asked to save. */
  readonly captured: Set<string>;
  /** Sessions that requests may go out on: saved ones, in this process or before. */
  readonly usable: Set<string>;
}

export interface CallRecord {
  readonly slot: string;
  readonly mayRunTwice: boolean;
  sent: number;
  runs: number;
}
