import { principalParts } from "@durable-mcp/core";
import { textDigest } from "@durable-mcp/core/internal";
import { createEventIds } from "../base/event-ids.ts";
import type { SessionName } from "./upstreams.ts";

/** Which session a client has: its own, or the one of a name. */
export type SessionAddress = Omit<SessionName, "session"> & { readonly name?: string | undefined };

/** The names that come from the id that a client has. Nobody finds the id from them, or one of them from another. */
export async function namesOf(id: string, { connection, principal, name }: SessionAddress) {
  const parts = [id, connection, ...principalParts(principal), name];
  const digest = await textDigest(JSON.stringify(parts));
  const key = digest.slice(0, 32);
  return {
    of: { session: name === undefined ? key : `@${name}`, connection, principal },
    /** Tells the client from others, also under the same name. */
    key,
    isNamed: name !== undefined,
    prefix: digest.slice(32, 44),
    events: createEventIds(digest.slice(44, 60)),
  };
}

export type SessionNames = Awaited<ReturnType<typeof namesOf>>;
