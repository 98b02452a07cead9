import { digest } from "./journal.ts";
import type { JournalEntry } from "./protocol.ts";

/** Digests of all states, codes, verifiers and refresh tokens that an authorization server has seen or issued. */
export function secretsOf(journal: readonly JournalEntry[]): string[] {
  const digests = journal.flatMap((entry) => {
    if (entry.kind === "grant-revoked") return [];
    const { state, code, verifier, refreshToken, issuedRefreshToken } = entry;
    return [state, code, verifier, refreshToken, issuedRefreshToken];
  });
  return digests.filter((each) => each !== undefined);
}

/** How many words of a text are secrets, of which only digests are known. */
export function secretsIn(text: string, digests: readonly string[]): number {
  const secrets = new Set(digests);
  const words = new Set(text.match(/[\w~-]{16,}/g));
  return [...words].filter((word) => secrets.has(digest(word))).length;
}
