import { checkSessionId } from "./check-session-id.ts";
import { createDoubts, isOwnPing } from "./doubts.ts";
import {
  type CallRecord,
  type Counts,
  type Delivery,
  idMarker,
  type Invariant,
  type IssuedSession,
  type SlotModel,
  type Violation,
  type WireRequest,
} from "./invariant-model.ts";
import { createSendings } from "./sendings.ts";

const wireId = (sessionId: string | undefined, id: unknown) => JSON.stringify([sessionId, id]);

const isOfHandshake = ({ message }: WireRequest) =>
  message?.method === "initialize" || message?.method === "notifications/initialized";

/** Whether an acknowledgement follows one that met an outage: as its second attempt, or after its caller left. */
function goesOutAgain({ unsettled, initializing }: SlotModel, again: WireRequest): boolean {
  const isMakingOther = [...initializing].some(({ signal }) => !signal?.aborted);
  if (unsettled?.sessionId !== again.sessionId || isMakingOther) return false;
  return unsettled?.signal === again.signal || unsettled?.signal?.aborted === true;
}

/** Watches a schedule from all sides and says what must not have happened. */
export function createInvariantChecks() {
  const violations: Violation[] = [];
  const counts: Counts = {};
  const slots = new Map<string, SlotModel>();
  const issued = new Map<string, IssuedSession>();
  const calls = new Map<string, CallRecord>();
  /** Clients that share a fetch with others: they number their requests alike. */
  const sharing = new Set<string>();
  /** What went out under an id on a session: from which slot, and which request of a client it was. */
  const wireIds = new Map<string, { slot: string; nonce: string | undefined }>();
  /** Requests that their callers gave up. */
  const givenUp = new Set<string>();

  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const violate = (invariant: Invariant, message: string) => {
    violations.push({ invariant, message });
  };
  const model = (slot: string) => slots.get(slot)!;
  const sendings = createSendings(count, violate);
  const doubts = createDoubts(count);

  const checkCancellation = ({ slot, sessionId, message }: WireRequest) => {
    const cancelled = wireIds.get(wireId(sessionId, message.params?.requestId));
    if (cancelled === undefined) return;
    if (cancelled.slot !== slot) {
      violate("own-answer", `${slot} cancelled a request of ${cancelled.slot}`);
    } else if (
      cancelled.nonce &&
      !givenUp.has(cancelled.nonce) &&
      !sharing.has(cancelled.nonce.split("#")[0] ?? "") &&
      !model(slot).mayTimeOut
    ) {
      violate(
        "own-cancellation",
        `${slot} cancelled ${cancelled.nonce}, which its caller waits for`,
      );
    }
  };

  /** On which session a request goes out, the handshake aside. */
  const checkUse = (request: WireRequest) => {
    const { slot: name, sessionId, message } = request;
    const slot = model(name);
    if (message?.method === "notifications/initialized") {
      const mayGoOut = goesOutAgain(slot, request) || doubts.isSpare(slot, sessionId);
      if (slot.opened === undefined && mayGoOut) slot.opened = sessionId;
      if (slot.opened === sessionId) return;
      violate("slot-kept", `${name} acknowledged a session that is not the one being made`);
    } else if (sessionId !== undefined && !slot.usable.has(sessionId)) {
      if (slot.isPreparing && slot.acknowledged.has(sessionId)) return;
      // A call is carried out there, which may be resumed, cancelled and asked about.
      const isCall = message?.id !== undefined && message.method !== "ping";
      if (slot.named.has(sessionId) && !isCall) return;
      violate("slot-kept", `${name} used a session that is not saved`);
    }
  };

  const checkInitialize = (request: WireRequest) => {
    const slot = model(request.slot);
    const underWay = [...slot.initializing].filter(({ signal }) => !signal?.aborted);
    if (underWay.length > 0) {
      violate(
        "one-initialize",
        `${request.slot} sent a second initialize while the first was under way`,
      );
    }
    const isBeside = doubts.mayOpenBeside(slot, request);
    if (slot.current !== undefined && !slot.lost.has(slot.current) && !isBeside) {
      violate("one-initialize", `${request.slot} sent initialize although it has a session`);
    }
    if (slot.opened !== undefined) {
      violate("one-initialize", `${request.slot} sent initialize although a session is being made`);
    }
    slot.initializing.add(request);
    count(slot.lost.size > 0 ? "initialize after a loss" : "first initialize");
  };

  return {
    violations,
    counts,
    count,
    violate,

    addSlot(
      name: string,
      options: Pick<SlotModel, "heldId" | "hasSavePoint" | "resend" | "onLoss" | "mayTimeOut">,
    ) {
      const current = options.heldId();
      slots.set(name, {
        ...options,
        isPreparing: false,
        current,
        lost: new Set(),
        initializing: new Set(),
        opened: undefined,
        unsettled: undefined,
        refusedPing: undefined,
        beside: undefined,
        spare: undefined,
        acknowledged: new Set(),
        named: new Set(),
        restored: new Set(),
        captured: new Set(),
        usable: new Set(current === undefined ? [] : [current]),
      });
    },

    issued(session: IssuedSession) {
      issued.set(session.id, session);
    },

    sent(request: WireRequest) {
      checkSessionId(request, issued, violate);
      const { slot, message, sessionId } = request;
      if (request.method === "DELETE") return;
      checkUse(request);
      if (message?.method === "initialize") checkInitialize(request);
      if (isOfHandshake(request)) sendings.sent(request);
      if (message?.method === "notifications/cancelled") checkCancellation(request);
      const nonce: string | undefined = message?.params?.["_meta"]?.nonce;
      if (message?.method !== undefined && message.id !== undefined) {
        wireIds.set(wireId(sessionId, message.id), { slot, nonce });
      }
      const call = calls.get(nonce ?? "");
      if (call === undefined) return;
      call.sent += 1;
      if (call.sent === 2) count("call sent again");
      const { resend, onLoss } = model(slot);
      const most = resend === "never" ? 1 : onLoss === "retry" ? 3 : 2;
      if (call.sent > most) violate("one-run", `${slot} sent ${nonce} ${call.sent} times`);
    },

    /** Something came back to the process that sent `request`. */
    delivered(request: WireRequest, delivery: Delivery, openedId?: string) {
      const slot = slots.get(request.slot);
      if (slot === undefined) return;
      const { sessionId, message } = request;
      const mayRepeat = isOfHandshake(request) && sendings.delivered(request, delivery);
      if (message?.method === "initialize") {
        slot.initializing.delete(request);
        if (delivery === "refused") for (const id of slot.lost) slot.restored.add(id);
        const isOpened = delivery === "ok" && openedId && !request.signal?.aborted;
        if (isOpened && !doubts.opened(slot, request, openedId)) slot.opened = openedId;
        return;
      }
      if (message?.method === "notifications/initialized") {
        // It comes too late to count.
        if (request.signal?.aborted) return;
        if (delivery === "ok" && sessionId !== undefined) {
          slot.acknowledged.add(sessionId);
          if (!slot.hasSavePoint) this.saved(request.slot, sessionId);
        } else if (delivery !== "failed" && slot.opened === sessionId) {
          slot.opened = undefined;
          slot.unsettled = mayRepeat ? request : undefined;
        }
        return;
      }
      const isKept = message?.method === "ping" && delivery === "ok" && sessionId !== undefined;
      if (isKept && slot.named.has(sessionId) && !slot.usable.has(sessionId)) {
        if (!slot.hasSavePoint) this.saved(request.slot, sessionId);
      }
      if (isOwnPing(request)) return doubts.pinged(slot, request, delivery);
      if (delivery === "definite-loss" || delivery === "probable-loss") {
        count(delivery);
        if (slot.current !== sessionId) count("loss reported late, of a session replaced since");
        if (sessionId !== undefined) slot.lost.add(sessionId);
      }
    },

    /** A 2xx answer named another session than the one that the request went out on. */
    named(request: WireRequest, sessionId: string) {
      const slot = model(request.slot);
      if (request.sessionId !== undefined) slot.lost.add(request.sessionId);
      slot.named.add(sessionId);
      slot.acknowledged.add(sessionId);
    },

    /** `onStart` begins or ends. */
    preparing(name: string, isPreparing: boolean) {
      const slot = model(name);
      slot.isPreparing = isPreparing;
      // A session that is lost while it is prepared is given up.
      if (!isPreparing && slot.opened && slot.lost.has(slot.opened)) slot.opened = undefined;
    },

    /** The save point was asked to save. */
    captured(name: string, sessionId: string) {
      const { acknowledged, captured } = model(name);
      if (!acknowledged.has(sessionId)) {
        violate("slot-kept", `${name} saves a session that was not acknowledged`);
      }
      if (captured.has(sessionId)) violate("slot-kept", `${name} saves a session a second time`);
      captured.add(sessionId);
    },

    /** The save point answered with this session. */
    saved(name: string, sessionId: string) {
      const slot = model(name);
      slot.current = sessionId;
      slot.usable.add(sessionId);
      slot.opened = undefined;
      // Of a winner it is not known yet.
      slot.lost.delete(sessionId);
    },

    saveFailed(name: string) {
      model(name).opened = undefined;
    },

    /** To be called whenever everything rests. */
    checkSlots() {
      for (const [name, slot] of slots) {
        const held = slot.heldId();
        if (held === slot.current) continue;
        if (held === undefined && slot.current !== undefined && slot.lost.has(slot.current)) {
          slot.current = undefined;
          continue;
        }
        // The loss was taken back, because a new session was refused alike.
        if (held !== undefined && slot.current === undefined && slot.restored.has(held)) {
          slot.current = held;
          continue;
        }
        const what = held === undefined ? "no session" : "another session";
        violate(
          "slot-kept",
          `${name} holds ${what} instead of the one that was acknowledged and saved last`,
        );
        slot.current = held;
      }
    },

    /** A client is about to call a tool. */
    willCall(nonce: string, slot: string, isSafe: boolean) {
      const mayRunTwice = isSafe || model(slot).resend === "always";
      calls.set(nonce, { slot, mayRunTwice, sent: 0, runs: 0 });
    },

    /** A client sends through a fetch that others have, too. */
    sharesFetch(client: string) {
      sharing.add(client);
    },

    /** A caller gives up its request. */
    gaveUp(nonce: string) {
      givenUp.add(nonce);
    },

    ran(nonce: string) {
      const call = calls.get(nonce);
      if (call === undefined) return;
      call.runs += 1;
      count("tool run");
      if (call.runs === 1) return;
      count("tool run again, as allowed");
      if (!call.mayRunTwice) violate("one-run", `${nonce} of ${call.slot} ran ${call.runs} times`);
    },

    /** A client was told that its call was not carried out. */
    reportedNotCarriedOut(nonce: string) {
      if ((calls.get(nonce)?.runs ?? 0) === 0) return;
      violate("honest-failure", `${nonce} ran and was reported as not carried out`);
    },

    /** Looks for session ids in something that was said. */
    checkSecret(where: string, text: string) {
      if (text.includes(idMarker)) violate("id-secret", `${where} said a session id`);
    },
  };
}

export type InvariantChecks = ReturnType<typeof createInvariantChecks>;
