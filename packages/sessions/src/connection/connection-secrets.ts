import { authorizationRequired } from "../events/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { minLength, scrubError, scrubPlain, secretScrubber } from "../events/scrub-secrets.ts";

/** What a connection sends in secret, and whatever leaves it as text without that. */
export type ConnectionSecrets = ReturnType<typeof createConnectionSecrets>;

/** Each request has a proof of its own. So many of the last ones are known. */
const maxProofs = 50;

export function createConnectionSecrets() {
  const known = new Set<string>();
  const proofs: string[] = [];
  const underWay = new Set<readonly string[]>();
  let scrubber: ReturnType<typeof secretScrubber> | undefined;

  const scrubberWith = (others: readonly string[]) =>
    secretScrubber([...known, ...proofs, ...others]);
  const scrub = (text: string): string => {
    if (scrubber === undefined) {
      scrubber = scrubberWith([...underWay].flat());
      // One text of a server is scrubbed in one go. The next one may be longer, and has limits of its own.
      queueMicrotask(() => (scrubber = undefined));
    }
    return scrubber(text);
  };
  const withoutSecrets = (error: unknown): unknown =>
    // The words and the page of a sign-in are the application's, and a part of its link would be missing.
    authorizationRequired(error) === error ? error : scrubError(error, scrub);

  return {
    /** Values that are sent with each request, or to each process. */
    add(...values: string[]): void {
      for (const value of values) known.add(value);
      scrubber = undefined;
    },
    addProof(proof: string): void {
      proofs.push(proof);
      if (proofs.length > maxProofs) proofs.shift();
      scrubber = undefined;
    },
    /** Keeps the values of one call secret while it goes on. */
    async during<T>(values: readonly string[], work: () => Promise<T>): Promise<T> {
      const own = [...values];
      underWay.add(own);
      scrubber = undefined;
      try {
        return await work();
      } finally {
        underWay.delete(own);
      }
    },
    scrub,
    /** For what a server says of one call, after which that is over. */
    scrubberWith,
    /** The same error, or a copy without secrets. @see scrubError */
    scrubError: withoutSecrets,
    /** Successful results are the server's own words. */
    scrubResult: <RESULT>(result: RESULT): RESULT =>
      isToolError(result) ? (scrubPlain(result as object, scrub) as RESULT) : result,
    scrubEvent<EVENT extends ConnectionEvent>(event: EVENT): EVENT {
      if ("error" in event) return { ...event, error: withoutSecrets(event.error) };
      const { type, connection } = event;
      const isServers = type === "notification" || type === "tools-changed";
      return isServers ? { ...scrubPlain(event, scrub), type, connection } : event;
    },
  };
}

/** Whether a tool's result says that the tool failed. */
export function isToolError(result: unknown): boolean {
  // A tool with an output schema may have an `isError` of its own.
  const { isError, content } = (result ?? {}) as { isError?: unknown; content?: unknown };
  return isError === true && Array.isArray(content);
}

export const secretName = /key|token|secret|passw|pwd|credential|auth|bearer|cookie|session/i;
/** Hosted servers give out URLs with a key in the path: a long segment, or one of letters and digits. */
const keyLike = /^(?:.{32,}|(?=.*\d)(?=.*[A-Za-z]).{8,}|(?=.*[a-z].*[A-Z].*[a-z]).{16,})$/;
/** They stand before a key: `/s/KEY/mcp`. */
const keyName = /^(?:[ks]|api-?key|keys?|tokens?|secrets?)$/i;

/** Takes what is sent to a server out of texts: these values, and what may be a key in the server's URL. */
export const sentScrubber = (
  url: URL | undefined,
  values: readonly string[],
  placeholder: string,
) => secretScrubber([...values, ...(url ? secretsOfUrl(url) : [])], placeholder);

/** The parts of a URL that are never quoted: its password, and what may be a key in its query and its path. */
export function secretsOfUrl({ password, searchParams, pathname }: URL): string[] {
  const queried = [...searchParams].filter(
    ([name, value]) => secretName.test(name) || value.length >= minLength,
  );
  const segments = pathname.split("/");
  const keys = segments.filter(
    (segment, at) => keyLike.test(segment) || keyName.test(segments[at - 1] ?? ""),
  );
  const parts = [password, ...keys];
  const all = [...parts, ...parts.map(decoded), ...queried.map(([, value]) => value)];
  return [...new Set(all)].filter(Boolean);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
