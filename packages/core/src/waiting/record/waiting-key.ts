import { type Principal, principalParts } from "../../session/principal.ts";

/** The agent session and the principal that own waiting calls. */
export interface WaitingOwner {
  /** `null` for those that agents share. */
  readonly agent: string | null;
  readonly sessionId: string;
  readonly principal: Principal;
}

const slotStart = "waiting/";
/** How ids begin of what watches have found: its records stand among the calls, and end with them. */
export const newsStart = "news/";

/** The keys of waiting calls. No connection has such a name, so no session has such a key. */
export const waitingKeys = {
  of: ({ agent, sessionId, principal }: WaitingOwner, id: string): string =>
    JSON.stringify([agent, sessionId, slotStart + id, ...principalParts(principal)]),
  /** How the keys of an agent session's waiting calls begin, and no others. */
  start: (agent: string | null, sessionId: string): string =>
    `${JSON.stringify([agent, sessionId]).slice(0, -1)},"${slotStart}`,
  /** How the keys begin of what a watch has found, for whichever principal. */
  newsOf: ({ agent, sessionId, id }: Omit<WaitingOwner, "principal"> & { readonly id: string }) =>
    `${waitingKeys.start(agent, sessionId)}${newsStart}${id}/`,
  /** Whether an id in a key is that of an entry of a watch, and of no call. */
  isNews: (id: string): boolean => id.startsWith(newsStart),
  /** The agent session in the key of a waiting call; `undefined` for any other key. */
  parse(
    key: string,
  ):
    | { readonly agent: string | null; readonly sessionId: string; readonly id: string }
    | undefined {
    try {
      const [agent, sessionId, slot] = JSON.parse(key) as unknown[];
      const isOurs = typeof slot === "string" && slot.startsWith(slotStart);
      if (!isOurs || typeof sessionId !== "string") return undefined;
      return { agent: agent as string | null, sessionId, id: slot.slice(slotStart.length) };
    } catch {
      return undefined;
    }
  },
};
