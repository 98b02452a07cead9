import { type Fingerprint, isFingerprint } from "./fingerprint.ts";

/** How many parts of a key stay readable: the agent (`null` if shared), the agent session and the connection. */
const readableParts = 3;

/** The readable parts of a key and the comma after them. */
const readableStart = /^\[(?:null,|"(?:[^"\\]|\\.)*",)(?:"(?:[^"\\]|\\.)*",){2}/;

/**
 * The key that a store of fingerprints knows: for `[agent, session, connection, ...principal]` as
 * JSON the first three parts and a fingerprint of the others; any other key as it is.
 */
export async function fingerprintKey(key: string, fingerprint: Fingerprint): Promise<string> {
  const parts = parseKey(key);
  if (parts === undefined) return key;
  const readable = parts.slice(0, readableParts);
  const principal = parts.slice(readableParts);
  const isDone = principal.length === 1 && isFingerprint(principal[0]);
  if (isDone) return key;
  return JSON.stringify([...readable, await fingerprint(JSON.stringify(principal))]);
}

/** A prefix of the fingerprinted keys of all keys that start with `prefix`, as long as can be. */
export function fingerprintedPrefix(prefix: string): string {
  return readableStart.exec(prefix)?.[0] ?? prefix;
}

/** The parts, when the key is a JSON array of texts, printed as `JSON.stringify` does, that names a principal. */
function parseKey(key: string): readonly unknown[] | undefined {
  if (!readableStart.test(key)) return undefined;
  try {
    const parts = JSON.parse(key) as readonly unknown[];
    const isOurs =
      parts.length > readableParts &&
      parts.slice(1).every((part) => typeof part === "string") &&
      JSON.stringify(parts) === key;
    return isOurs ? parts : undefined;
  } catch {
    return undefined;
  }
}
