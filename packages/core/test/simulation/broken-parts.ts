import { vi } from "vitest";
import { type Parts, realParts } from "./parts.ts";

type SessionFetchOptions = Parameters<Parts["createSessionFetch"]>[0];

/** Core with one of its modules replaced; the rest is core as it is. */
export async function coreWith(
  module: string,
  broken: (original: any) => Record<string, unknown>,
): Promise<Parts> {
  const path = new URL(`../../src/${module}`, import.meta.url).pathname;
  vi.resetModules();
  vi.doMock(path, async (importOriginal) => {
    const original = await importOriginal<object>();
    return { ...original, ...broken(original) };
  });
  try {
    const core = await import("../../src/index.ts");
    const calls = await import("../../src/waiting/index.ts");
    const inner = await import("../../src/waiting/internal.ts");
    const waiting = { ...calls, ...inner };
    return { ...core, waiting };
  } finally {
    vi.doUnmock(path);
    vi.resetModules();
  }
}

/** Core with a wrapper around its session fetch. */
function wrapped(wrap: (options: SessionFetchOptions) => typeof globalThis.fetch): Promise<Parts> {
  return Promise.resolve({ ...realParts, createSessionFetch: wrap });
}

/** Requests go out under the client's own ids. */
export const withoutIdRewrite = () =>
  coreWith("wire/request-ids.ts", (original) => ({
    createRequestIds: () => {
      const pendingById = new Map<unknown, object>();
      return {
        ...original.createRequestIds(),
        send: (request: { id: unknown }) => {
          const pending = { wireId: request.id, request };
          pendingById.set(request.id, pending);
          return { pending, message: request };
        },
        find: (id: unknown) => pendingById.get(id),
        findByClientId: (id: unknown) => pendingById.get(id),
        settle: ({ wireId }: { wireId: unknown }) => pendingById.delete(wireId),
      };
    },
  }));

/** A loss clears the slot, whichever session was lost. */
export const withoutCompareAndClear = () =>
  coreWith("session/session-life.ts", (original) => ({
    compareAndClear: (state: object) => {
      const live: unknown = original.liveSession(state);
      return live !== undefined && original.compareAndClear(state, live);
    },
  }));

/** Every request that needs a session makes one. */
export const withoutSharedHandshake = () =>
  coreWith("base/shared-task.ts", () => ({
    createSharedTask: () => (start: (signal: AbortSignal, finish: () => void) => unknown) =>
      start(new AbortController().signal, () => undefined),
  }));

/** A refusal that only speaks of the session counts as one that a router gave. */
export const withCarelessClassifier = () =>
  coreWith("session/lost-session.ts", (original) => ({
    classifyLoss: (answer: object) => {
      const loss = original.classifyLoss(answer);
      return loss === "probable" ? "definite" : loss;
    },
  }));

/** Errors pass as the server wrote them. */
export const withoutScrubbing = () =>
  coreWith("wire/scrub-session-id.ts", () => ({
    scrubSessionId: (body: string) => body,
    scrubError: (error: object) => error,
  }));

/** Requests carry the newest version, whatever was negotiated. */
export const withFixedVersion = () =>
  coreWith("session/session-headers.ts", (original) => ({
    headersForSession: (headers: Headers, session: unknown) => {
      const result: Headers = original.headersForSession(headers, session);
      if (session !== undefined) result.set("mcp-protocol-version", "2025-11-25");
      return result;
    },
  }));

/** Principals are joined with a separator that may stand in their names. */
export const withNaiveKey = (): Promise<Parts> =>
  Promise.resolve({
    ...realParts,
    sessionKey: ({ connection, principal }) =>
      [connection, ...(principal.type === "user" ? [principal.issuer, principal.id] : [])].join(
        ":",
      ),
  });

/** Redirects are followed, the id included. */
export const withRedirectsFollowed = () =>
  wrapped((options) => {
    const { fetch = globalThis.fetch } = options;
    return realParts.createSessionFetch({
      ...options,
      fetch: (input, init) => fetch(input, { ...init, redirect: "follow" }),
    });
  });

/** What fails is sent again. */
export const withEagerResend = () =>
  wrapped((options) => {
    const fetch = realParts.createSessionFetch(options);
    return async (input, init) => {
      try {
        const response = await fetch(input, init);
        return response.status >= 500 ? await fetch(input, init) : response;
      } catch {
        return await fetch(input, init);
      }
    };
  });

/** First requests go out again as long as they fail. */
export const withInsistentBeginnings = () =>
  coreWith("wire/safe-requests.ts", ({ sendingSafeAgain }) => ({
    sendingSafeAgain: (fetch: unknown, limitMs: number) =>
      sendingSafeAgain(sendingSafeAgain(fetch, limitMs), limitMs),
  }));

/** Whatever is answered to a ping, a session in doubt is given up. */
export const withHastyDoubts = () =>
  coreWith("session/session-context.ts", ({ pingOn }) => ({
    pingOn: async (...ping: unknown[]) => {
      await pingOn(...ping);
      return true;
    },
  }));

/** What another process has saved first is not adopted. */
export const withoutWinner = () =>
  wrapped(({ onSession, ...options }) =>
    realParts.createSessionFetch({
      ...options,
      ...(onSession && {
        onSession: async (snapshot) => {
          await onSession(snapshot);
        },
      }),
    }),
  );

/** Clients that should have a fetch each are given the same one. */
export const withOneFetchForAll = () => {
  const fetches = new WeakMap<object, typeof globalThis.fetch>();
  return wrapped((options) => {
    const fetch = fetches.get(options.slot) ?? realParts.createSessionFetch(options);
    fetches.set(options.slot, fetch);
    return fetch;
  });
};

/** A failure leaves the caller waiting. */
export const withHangingFailures = () =>
  wrapped((options) => {
    const fetch = realParts.createSessionFetch(options);
    return (input, init) => fetch(input, init).catch(() => new Promise<Response>(() => {}));
  });
