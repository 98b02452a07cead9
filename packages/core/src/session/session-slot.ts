import { setBounded } from "../base/bounded-map.ts";
import { invalidOption } from "../base/check-option.ts";
import { isRecord } from "../base/json-values.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import { randomToken } from "../base/random-token.ts";
import { createSharedTask } from "../base/shared-task.ts";
import type { JsonRpcId } from "../wire/json-rpc.ts";
import { openedSession, phaseOf, takeLossNotice } from "./session-life.ts";
import type { SlotState } from "./slot-state.ts";
import {
  type ActiveSessionSnapshot,
  checkSnapshot,
  type SessionSnapshot,
} from "./session-snapshot.ts";

/** Holds, for one step, the MCP session of one connection and principal. */
export interface SessionSlot {
  /** The snapshot to save for the next step; `undefined` while there is nothing to save. */
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether `snapshot` differs from the one the slot was created with. */
  readonly changed: boolean;
  /**
   * A session that the server made but the fetch did not save, because the handshake did not finish. End
   * it with `endSession` when you give the slot up, because nobody else knows it.
   */
  readonly unfinished: ActiveSessionSnapshot | undefined;
  /**
   * Returns `true` once after the session took the place of a lost one, in this step or an earlier one.
   * The server no longer has the contents of the lost session.
   */
  takeLossNotice(): boolean;
  /**
   * Waits until no handshake is under way, and until the unused sessions are ended (5 seconds at most), so
   * that no half-made session is left behind.
   */
  settle(): Promise<void>;
}

const states = new WeakMap<SessionSlot, SlotState>();

/**
 * Creates the slot of one connection and principal for one step.
 *
 * @param snapshot the snapshot of an earlier step, from `parseSessionSnapshot`
 * @throws {McpSessionError} `CONNECTION_INVALID` for anything else
 */
export function createSessionSlot(snapshot?: SessionSnapshot): SessionSlot {
  if (snapshot !== undefined) checkSnapshot(snapshot);
  const state: SlotState = {
    phase: phaseOf(snapshot),
    url: undefined,
    snapshot,
    isClientTold: false,
    isLossUntold: snapshot?.replacesLost === true,
    ignoresNames: snapshot?.kind === "session" && snapshot.namesVary === true,
    isIgnoringTold: false,
    brokenSince: snapshot?.kind === "session" ? snapshot.refusedSince : undefined,
    clientParams: undefined,
    liveListeners: new Set(),
    tools: { pages: new Map() },
    stream: { isOpen: false, opening: undefined },
    failures: new Map(),
    underWay: new Set(),
    endings: new Set(),
    tasks: {
      opening: createSharedTask(),
      ensuring: createSharedTask(),
      asking: createSharedTask(),
    },
  };
  const slot: SessionSlot = {
    get snapshot() {
      return state.snapshot;
    },
    get changed() {
      return state.snapshot !== snapshot;
    },
    get unfinished() {
      const { url } = state;
      const session = openedSession(state);
      if (session?.kind !== "session" || url === undefined) return undefined;
      return { version: 1 as const, url, ...session };
    },
    takeLossNotice: () => takeLossNotice(state),
    async settle() {
      for (;;) {
        const tasks = Object.values(state.tasks).flatMap(({ current }) => current ?? []);
        const underWay = [...tasks, ...state.endings];
        if (underWay.length === 0) return;
        await Promise.allSettled(underWay);
      }
    },
  };
  states.set(slot, state);
  return slot;
}

/** The inside of a slot. */
export function slotState(slot: SessionSlot): SlotState {
  const state = states.get(slot);
  if (state === undefined) {
    throw invalidOption(
      "slot",
      "must come from createSessionSlot of this copy of @durable-mcp/core",
    );
  }
  return state;
}

/** A step has fewer open failures than this. The oldest one is dropped. */
const maxKept = 1_000;
/** Connection closed: an implementation-defined JSON-RPC code of the official SDKs. */
const connectionClosed = -32000;

/** Keeps a failure, and prints it as the answer to the client's request, with a receipt. */
export function deliverFailure(
  { failures }: SlotState,
  id: JsonRpcId,
  failure: McpSessionError,
): string {
  const receipt = randomToken();
  setBounded(failures, receipt, failure, maxKept);
  const { code, message, data } = failure;
  const error = { code: connectionClosed, message, data: { ...data, code, receipt } };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

/** Whether a fetch of ours beneath has delivered the error of an answer. */
export function isDelivered({ failures }: SlotState, error: unknown): boolean {
  return failures.has((error as { data?: { receipt?: string } }).data?.receipt ?? "");
}

/**
 * The `McpSessionError` behind a client's error. A failure after the response headers reaches a client as
 * a JSON-RPC error whose `data` carries a receipt. A server cannot invent a receipt; that its own answer was lost it
 * may say itself.
 *
 * @returns `undefined` if no session fetch on this slot delivered the error
 */
export function sessionFailure(slot: SessionSlot, error: unknown): McpSessionError | undefined {
  const data = (error as { data?: unknown } | null | undefined)?.data;
  const receipt = isRecord(data) ? data["receipt"] : undefined;
  return typeof receipt === "string" ? slotState(slot).failures.get(receipt) : undefined;
}
