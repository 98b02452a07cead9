import { principalParts } from "@durable-mcp/core";
import { setBounded, textDigest } from "@durable-mcp/core/internal";
import { createEventIds } from "../base/event-ids.ts";
import type { SessionName } from "./upstreams.ts";

/** Which session a client has: its own, or the one of a name. */
export type SessionAddress = Omit<SessionName, "session"> & { readonly name?: string | undefined };

const textOf = (id: string, { connection, principal, name }: SessionAddress) =>
  JSON.stringify([id, connection, ...principalParts(principal), name]);

/** The names that come from the id that a client has. Nobody finds the id from them, or one of them from another. */
export async function namesOf(id: string, address: SessionAddress) {
  const { connection, principal, name } = address;
  const digest = await textDigest(textOf(id, address));
  const key = digest.slice(0, 32);
  const session = name === undefined ? key : `@${name}`;
  return {
    of: { session, connection, principal },
    /** Of the session, which clients may share. */
    whole: JSON.stringify([connection, session, ...principalParts(principal)]),
    /** Tells the client from others, also under the same name. */
    key,
    isNamed: name !== undefined,
    prefix: digest.slice(32, 44),
    events: createEventIds(digest.slice(44, 60)),
  };
}

export type SessionNames = Awaited<ReturnType<typeof namesOf>>;

/** As many clients are known without a digest for each of their requests. */
const maxKnown = 2_000;

/** The same, once for each client. */
export function createKnownNames(): typeof namesOf {
  const known = new Map<string, Promise<SessionNames>>();
  return async (id, address) => {
    const text = textOf(id, address);
    const names = known.get(text) ?? namesOf(id, address);
    setBounded(known, text, names, maxKnown);
    return await names;
  };
}
