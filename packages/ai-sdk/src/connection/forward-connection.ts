import type { LiveConnection } from "./live-connection.ts";

/**
 * A connection that forwards to another one. The other one may change between two uses, and tools that
 * are bound to this connection follow.
 *
 * @param own the members that it does not forward
 */
export function forwardConnection(
  current: () => LiveConnection,
  own: Partial<LiveConnection>,
): LiveConnection {
  const forwarded: LiveConnection = {
    get name() {
      return current().name;
    },
    get definition() {
      return current().definition;
    },
    get origin() {
      return current().origin;
    },
    get session() {
      return current().session;
    },
    get connectMs() {
      return current().connectMs;
    },
    get abortSignal() {
      return current().abortSignal;
    },
    get openings() {
      return current().openings;
    },
    get trace() {
      return current().trace;
    },
    // Tools keep the notices of the time of their listing.
    lossNotices: current().lossNotices && {
      take: () => current().lossNotices!.take(),
      mark: (...result) => current().lossNotices!.mark(...result),
      tell: async (...result) => await current().lossNotices!.tell(...result),
    },
    createFetch: (use) => current().createFetch(use),
    client: async () => await current().client(),
    withKept: async (open) => await current().withKept(open),
    withRecovery: async (tool, attempt) => await current().withRecovery(tool, attempt),
    probe: async (signal) => await current().probe(signal),
    renew: () => current().renew(),
    settle: async () => await current().settle(),
    endLooseSessions: async () => await current().endLooseSessions(),
    restoreError: (error) => current().restoreError(error),
  };
  return Object.defineProperties(forwarded, Object.getOwnPropertyDescriptors(own));
}
