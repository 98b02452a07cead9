import { type JsonValue, McpSessionError, principalParts } from "@durable-mcp/core";
import { isRecord, textDigest } from "@durable-mcp/core/internal";
import type { PrimingKind } from "../base/events.ts";
import type { SessionNames } from "./session-names.ts";
import type { Centre } from "./upstreams.ts";

/** A client of a named session, as it stands in the store beside the session. */
export interface NamedClient {
  /** The server's session of which its results have told. */
  readonly told: number | undefined;
  readonly priming: PrimingKind;
}

/** A client that nobody has seen for this long has gone, in milliseconds (30 days). */
const keptMs = 2_592_000_000;
/** So many clients of a name are known. The oldest has to begin anew. */
export const maxClients = 200;
const maxTries = 20;

type Clients = Readonly<Record<string, [told: number, priming: PrimingKind]>>;
type Names = Pick<SessionNames, "of" | "key" | "whole">;

/** All clients of a name. */
export async function readNamedClients({ store }: Centre, { whole }: Pick<Names, "whole">) {
  const place = `gateway-clients/${await textDigest(whole)}`;
  const found = await store.get(place);
  const value = isRecord(found?.value) ? found.value["clients"] : undefined;
  const clients = (isRecord(value) ? value : {}) as Clients;
  return {
    place,
    revision: found?.revision ?? null,
    clients,
    /** @returns `undefined` for a client that has no part in the session */
    find(key: string): NamedClient | undefined {
      const [told, priming] = Object.hasOwn(clients, key) ? clients[key]! : [];
      return priming && { told, priming };
    },
  };
}

/**
 * Notes a client, or with `undefined` that it has left. One that has left is only noted again if it is new.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function writeNamedClient(
  centre: Centre,
  names: Names,
  client: NamedClient | undefined,
  isNew = false,
): Promise<void> {
  const owner = JSON.stringify(principalParts(names.of.principal));
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { place, revision, clients } = await readNamedClients(centre, names);
    const { [names.key]: own, ...others } = clients;
    if (own === undefined && !isNew) return;
    const kept = Object.fromEntries(Object.entries(others).slice(1 - maxClients));
    const noted = client && { [names.key]: [client.told ?? 0, client.priming] };
    const value = { clients: { ...kept, ...noted } } as unknown as JsonValue;
    const expiresAt = centre.now() + keptMs;
    if ((await centre.store.put(place, value, revision, { owner, expiresAt })).ok) return;
  }
  throw new McpSessionError(
    "STORE_FAILED",
    "Other clients of the named session wrote at the same time. Try again.",
  );
}
