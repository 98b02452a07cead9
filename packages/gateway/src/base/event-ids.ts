import type { JsonRpcId } from "@durable-mcp/core/internal";

/**
 * What an event id of the gateway says: where the client stands in a stream. Any process that serves the client reads
 * it, so that a call needs no operation of the store.
 */
export interface EventPlace {
  /** Tells the server's session from those before and after it. Its event ids are for it alone. */
  readonly era: number;
  /** `call`: a tool call, whose lost answer is a result. `listening`: the stream of no request. */
  readonly kind: "call" | "request" | "listening";
  readonly requestId: JsonRpcId | null;
  /** The server's last event id; "" before the first. */
  readonly eventId: string;
}

/** Longer ones go to no header. */
const maxLength = 4_096;
const kinds: readonly unknown[] = ["call", "request", "listening"];

/**
 * The event ids of one client session.
 *
 * @param seal names the session and its principal. An id of another session does not open. What a client writes into an
 *   id of its own session only reaches that session
 */
export function createEventIds(seal: string) {
  return {
    seal({ era, kind, requestId, eventId }: EventPlace): string {
      return `${seal}.${encodeURIComponent(JSON.stringify([era, kind, requestId, eventId]))}`;
    },
    open(text: string): EventPlace | undefined {
      if (text.length > maxLength || !text.startsWith(`${seal}.`)) return undefined;
      try {
        const fields: unknown = JSON.parse(decodeURIComponent(text.slice(seal.length + 1)));
        const [era, kind, requestId, eventId] = fields as unknown[];
        const isId = requestId === null || ["string", "number"].includes(typeof requestId);
        const isPlace = Number.isFinite(era) && kinds.includes(kind) && isId;
        if (!isPlace || typeof eventId !== "string") return undefined;
        return { era, kind, requestId, eventId } as EventPlace;
      } catch {
        return undefined;
      }
    },
  };
}
