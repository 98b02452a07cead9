/** What is done with sessions outside of their steps, by few processes: its code is loaded then. */

import { once } from "../base/once.ts";
import { loadedLater } from "../base/loaded-later.ts";
import type { createManagement } from "./manage-sessions.ts";
import type { ProviderInternals } from "../sessions/provider-internals.ts";
import type { DurableSessionsAdmin } from "./sessions-admin.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import type { createCarriedWaiting, createStoredWaiting } from "./waiting-outside-step.ts";

export type Management = ReturnType<typeof createManagement>;

const ofWaiting = ["waiting", "answer", "check", "withdraw"] as const;

export const managementOf = (context: SessionsContext): Management =>
  loadedLater(["list", "status", "restart", "clearTools", "end", "endAll"], async () =>
    (await import("./manage-sessions.ts")).createManagement(context),
  );

export function adminOf(context: SessionsContext): DurableSessionsAdmin {
  const load = once(async () => (await import("./sessions-admin.ts")).createSessionsAdmin(context));
  return {
    ...loadedLater<Omit<DurableSessionsAdmin, "due">>(
      [
        ...(["list", "status", "restart", "clearTools", "end", "sweep", "check"] as const),
        ...(["waiting", "answer", "withdraw"] as const),
      ],
      load,
    ),
    async *due(query) {
      yield* (await load()).due(query);
    },
  };
}

export const storedWaitingOf = (context: SessionsContext): ReturnType<typeof createStoredWaiting> =>
  loadedLater(ofWaiting, async () =>
    (await import("./waiting-outside-step.ts")).createStoredWaiting(context),
  );

export const carriedWaitingOf = (
  internals: ProviderInternals<any>,
): ReturnType<typeof createCarriedWaiting> =>
  loadedLater(ofWaiting, async () =>
    (await import("./waiting-outside-step.ts")).createCarriedWaiting(internals),
  );
