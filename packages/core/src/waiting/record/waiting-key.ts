import { type Principal, principalParts } from "../../session/principal.ts";

/** The agent session and the principal that own waiting calls. */
export interface WaitingOwner {
  /** `null` for those that agents share. */
  readonly agent: string | null;
  readonly sessionId: string;
  readonly principal: Principal;
}

const slotStart = "waiting/";
/** How ids begin of what watches have found: its records are no calls, and end with them. */
export const newsStart = "news/";

const isNews = (id: string): boolean => id.startsWith(newsStart);
const startOf = (agent: string | null, sessionId: string, slot: string): string =>
  `${JSON.stringify([agent, sessionId]).slice(0, -1)},"${slot}`;

/** The keys of waiting calls. No connection has such a name, so no session has such a key. */
export const waitingKeys = {
  of: ({ agent, sessionId, principal }: WaitingOwner, id: string): string => {
    const slot = isNews(id) ? id : slotStart + id;
    return JSON.stringify([agent, sessionId, slot, ...principalParts(principal)]);
  },
  /** How the keys of an agent session's waiting calls begin, and no others. */
  start: (agent: string | null, sessionId: string): string => startOf(agent, sessionId, slotStart),
  /** How the keys begin of what its watches have found, or one of them, for whichever principal. */
  newsOf: (agent: string | null, sessionId: string, watch?: string): string =>
    startOf(agent, sessionId, newsStart) + (watch === undefined ? "" : `${watch}/`),
  /** Whether an id in a key is that of an entry of a watch, and of no call. */
  isNews,
  /** The agent session in the key of a waiting call, or of news; `undefined` for any other key. */
  parse(
    key: string,
  ):
    | { readonly agent: string | null; readonly sessionId: string; readonly id: string }
    | undefined {
    try {
      const [agent, sessionId, slot] = JSON.parse(key) as unknown[];
      if (typeof slot !== "string" || typeof sessionId !== "string") return undefined;
      const isCall = slot.startsWith(slotStart);
      if (!isCall && !isNews(slot)) return undefined;
      const id = isCall ? slot.slice(slotStart.length) : slot;
      return { agent: agent as string | null, sessionId, id };
    } catch {
      return undefined;
    }
  },
};
