import { type Fingerprint, isFingerprint } from "./fingerprint.ts";

/**
 * These parts of a key stay readable: the agent (`null` if shared), the agent session and the connection.
 */
const readableParts = 3;

/** The readable parts of a key and the comma after them. */
const readableStart = /^\[(?:null,|"(?:[^"\\]|\\.)*",)(?:"(?:[^"\\]|\\.)*",){2}/;

/**
 * The key in a store of fingerprints. For `[agent, session, connection, ...principal]` as JSON, it has the
 * first three parts and a fingerprint of the others. Any other key stays unchanged.
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

/** The longest common prefix of the fingerprinted keys of all keys that start with `prefix`. */
export function fingerprintedPrefix(prefix: string): string {
  return readableStart.exec(prefix)?.[0] ?? prefix;
}

/** The parts of a key with a principal: a JSON array of texts, printed by `JSON.stringify`. */
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
