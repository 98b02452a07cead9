import type { Principal } from "@durable-mcp/core";
import type { NoncesRecord } from "../records/grant-record.ts";
import type { Records, Stored } from "../records/records.ts";

/** @see https://www.rfc-editor.org/rfc/rfc9449#section-8.1 */
const noncePattern = /^[\u0021\u0023-\u005B\u005D-\u007E]{1,512}$/;
const dayMs = 86_400_000;
/** Of how many grants a process keeps the nonces. */
const maxKept = 1_000;

/** Whose nonce: the authorization server and the MCP server have their own, also at one origin. */
export type NonceRole = "authorization-server" | "resource";

/** A resource of a principal. */
interface NonceUse {
  readonly principal: Principal;
  readonly resourceId: string;
}

/** The last nonces that servers have said, shared by the application's processes. */
export type Nonces = ReturnType<typeof createNonces>;

export function createNonces(records: Records, now: () => number) {
  interface Known {
    readonly nonces: Map<string, string>;
    stored: Stored<NoncesRecord>;
  }
  const known = new Map<string, Promise<Known>>();

  const load = async ({ principal, resourceId }: NonceUse): Promise<Known> => {
    const stored = await records.nonces(principal, resourceId);
    return { stored, nonces: new Map(Object.entries(stored.record?.nonces ?? {})) };
  };

  /** One read in the life of a process. */
  const of = (use: NonceUse): Promise<Known> => {
    const name = JSON.stringify([use.resourceId, use.principal]);
    const loaded = known.get(name) ?? load(use);
    known.delete(name);
    known.set(name, loaded);
    // Whoever fails tries again.
    loaded.catch(() => known.delete(name));
    if (known.size > maxKept) known.delete(known.keys().next().value!);
    return loaded;
  };

  /** Best effort: whoever does not know a nonce is told it by the server. */
  const save = async (use: NonceUse, own: Known): Promise<void> => {
    const record = { version: 1 as const, nonces: Object.fromEntries(own.nonces) };
    const saved = await records.replace(own.stored, record, now() + dayMs);
    own.stored = saved ?? (await records.nonces(use.principal, use.resourceId));
  };

  return {
    of: async (use: NonceUse): Promise<ReadonlyMap<string, string>> => (await of(use)).nonces,
    /** @returns whether it is one */
    take: async (use: NonceUse, role: NonceRole, nonce: string): Promise<boolean> => {
      if (!noncePattern.test(nonce)) return false;
      const own = await of(use);
      if (own.nonces.get(role) === nonce) return true;
      own.nonces.set(role, nonce);
      await save(use, own).catch(() => undefined);
      return true;
    },
  };
}
