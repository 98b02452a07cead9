import type { StoreKind } from "../durable/store-place.ts";
import { raceAll, withRefreshers } from "./refreshers.ts";

export interface RacedRegistrations {
  /** Registrations that the authorization server has seen. */
  readonly registrations: number;
  /** Sign-ins that came to their end. */
  readonly signIns: number;
  /** One line each. */
  readonly faults: readonly string[];
}

/** Living processes meet an authorization server for the first time at once, `times` times, and sign the user in. */
export async function raceRegistrations(options: {
  store: StoreKind;
  processes: number;
  times: number;
}): Promise<RacedRegistrations> {
  return await withRefreshers(options, async ({ authorization, use, processes }) => {
    const faults: string[] = [];
    let registrations = 0;
    let signIns = 0;
    for (let round = 0; round < options.times; round += 1) {
      await authorization.clearJournal();
      // Another application, as far as registrations go.
      const redirectUrl = `http://127.0.0.1:10239/${round}/callback`;
      const raced = await raceAll(processes, {
        use: { ...use, redirectUrl },
        meets: round % 2 === 0 ? "claim" : "start",
        isSignIn: true,
      });
      const registered = (await authorization.requests("registration")).length;
      const { code, verifier, grantsRevoked } = await authorization.reuse();
      const wrong = [
        ...raced.faults,
        ...(registered === 1 ? [] : [`${registered} registrations`]),
        ...(code === 1 && verifier === 1 ? [] : ["a code or a verifier was not used once"]),
        ...(grantsRevoked === 0 ? [] : ["a grant was revoked"]),
      ];
      faults.push(...wrong.map((text) => `round ${round}: ${text}`));
      registrations += registered;
      signIns += raced.answers.length;
    }
    return { registrations, signIns, faults };
  });
}
