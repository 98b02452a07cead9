import type { RequestId } from "../base/mcp-types.ts";
import { macOfSession } from "../base/session-id.ts";

/** The place after the last message: a client there has nothing to come back for. */
export const lastPlace = 36 ** 8 - 1;

/** A call, as its event ids name it: all that a process needs to find its answer. */
export interface CallName {
  /** The live session, and the call's number in it. */
  readonly instance: string;
  readonly number: number;
  /** The process, and how often it had renewed its lease when the first of the ids was given out. */
  readonly replica: string;
  readonly renewals: number;
  /** All requests of the POST; more than one in a batch of revision 2025-03-26. */
  readonly requestIds: readonly RequestId[];
}

/** A place in one stream of a session. */
interface EventPosition {
  /** `undefined` for the listening stream. */
  readonly call: CallName | undefined;
  /** From 0, which is before the first message. */
  readonly place: number;
}

export type MakeEventId = (place: number) => string;

/** Makes and reads the event ids of one session. */
export interface SessionEventIds {
  /** `undefined`: those of the listening stream. */
  of(call: CallName | undefined): MakeEventId;
  /** `undefined` unless `eventId` was given out for this session. */
  parse(eventId: string): EventPosition | undefined;
}

/** The name of a call among all of a session. */
export function callKey({ instance, number }: Pick<CallName, "instance" | "number">): string {
  return `${instance}.${number.toString(36)}`;
}

const word = "[\\w-]{1,64}";
const digits = "[0-9a-z]{1,8}";
const pattern = new RegExp(
  `^(${word})\\.(${digits})(?:\\.(${word})\\.(${digits})\\.(${word})\\.(${digits})\\.(.{1,20000}))?$`,
);

/**
 * Event ids carry a seal that only the session's id can make, and the store does not have that id.
 * So an event id proves that it was given out for this session, even when its message is no longer
 * stored. Within a session there is nothing to forge: its client may read all of its streams.
 */
export async function sessionEventIds(sessionId: string): Promise<SessionEventIds> {
  const seal = await macOfSession(sessionId, "durable-mcp event", 16);
  return {
    of: (call) => {
      if (!call) return (place) => `${seal}.${place.toString(36)}`;
      const { instance, number, replica, renewals, requestIds } = call;
      const numbers = [number, renewals].map((value) => value.toString(36));
      const ids = encodeURIComponent(JSON.stringify(requestIds));
      const rest = [instance, numbers[0], replica, numbers[1], ids].join(".");
      return (place) => `${seal}.${place.toString(36)}.${rest}`;
    },
    parse: (eventId) => {
      const [, given, place, instance, number, replica, renewals, ids] =
        pattern.exec(eventId) ?? [];
      // The caller has the session's id, from which the seal is made: no timing to hide.
      if (given !== seal || place === undefined) return undefined;
      const position = { place: Number.parseInt(place, 36) };
      if (instance === undefined) return { ...position, call: undefined };
      const requestIds = parseIds(ids!);
      if (!requestIds) return undefined;
      const numbers = [number!, renewals!].map((text) => Number.parseInt(text, 36));
      const call = { instance, number: numbers[0]!, replica: replica!, renewals: numbers[1]! };
      return { ...position, call: { ...call, requestIds } };
    },
  };
}

/** Of a batch. More would make an answer to all of them too large for a store. */
const maxIds = 500;

function parseIds(text: string): readonly RequestId[] | undefined {
  try {
    const ids: unknown = JSON.parse(decodeURIComponent(text));
    const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= maxIds;
    return isList && ids.every(isId) ? ids : undefined;
  } catch {
    return undefined;
  }
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}
