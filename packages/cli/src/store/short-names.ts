import { createHmac, randomBytes } from "node:crypto";
import { isRecord } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { tell } from "../output/print.ts";
import type { OpenedStore } from "./open-store.ts";

/** Where a store keeps the key of its short names. No record of a session has such a key. */
const nameKey = "durable-mcp/names";
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
/** In characters of 5 bits. Of a million names, two are the same once in 2,000 stores. */
const nameLength = 10;

/** A digest of a text that nobody without the store's key can compare with a guess. */
export type ShortName = (kind: "row" | "owner" | "session", text: string) => string;

/**
 * Makes the names by which people choose rows. They are the same in each command on the store.
 *
 * Their key is the fingerprint key of an encrypted store. Other stores keep one of their own in a record, which the
 * first command writes.
 */
export async function createShortNames(
  { raw, fingerprintKey }: Pick<OpenedStore, "raw" | "fingerprintKey">,
  command: Command,
): Promise<ShortName> {
  const secret = fingerprintKey ?? (await ownSecret(raw, command));
  return (kind, text) => {
    const digest = createHmac("sha256", secret).update(JSON.stringify([nameKey, kind, text]));
    return Array.from(digest.digest().subarray(0, nameLength), (byte) => alphabet[byte % 32]).join(
      "",
    );
  };
}

async function ownSecret(raw: OpenedStore["raw"], command: Command): Promise<string> {
  const stored = secretIn((await raw.get(nameKey))?.value);
  if (stored !== undefined) return stored;
  const secret = randomBytes(32).toString("base64url");
  try {
    const put = await raw.put(nameKey, { version: 1, secret }, null, { owner: nameKey });
    if (put.ok) return secret;
    const current = secretIn(put.current?.value);
    if (current !== undefined) return current;
  } catch {
    // A look into a store needs no right to write there.
  }
  tell(command, "The store takes no writes, so the short names are of this output alone.");
  return secret;
}

function secretIn(value: unknown): string | undefined {
  const secret = isRecord(value) ? value["secret"] : undefined;
  return typeof secret === "string" && secret.length >= 43 ? secret : undefined;
}
