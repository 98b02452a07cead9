import type { StoreKind } from "../durable/store-place.ts";
import type { Race } from "./refresher-protocol.ts";
import { raceAll, type Refreshers, withRefreshers } from "./refreshers.ts";

export interface RacedRefreshes {
  rounds: number;
  /** Refreshes that the authorization server has seen. */
  refreshes: number;
  /** Requests of the processes that were answered. */
  answered: number;
  /** The longest that a process had to wait, in milliseconds. */
  slowestMs: number;
  /** One line each. */
  readonly faults: string[];
}

/** How processes learn that a token has expired, and where they meet: one after the other. */
const rounds: readonly { readonly way: "expired" | "refused"; readonly meets: Race["meets"] }[] = [
  { way: "expired", meets: "start" },
  { way: "refused", meets: "start" },
  { way: "expired", meets: "claim" },
  { way: "refused", meets: "claim" },
];

/** Living processes meet an expired token at once, `times` times. */
export async function raceRefreshes(options: {
  store: StoreKind;
  processes: number;
  times: number;
}): Promise<RacedRefreshes> {
  return await withRefreshers(options, async (refreshers) => {
    const raced = { rounds: 0, refreshes: 0, answered: 0, slowestMs: 0, faults: [] };
    let aheadMs = 0;
    for (let round = 0; round < options.times; round += 1) {
      const { way, meets } = rounds[round % rounds.length]!;
      // By their clock it is long over; or only the servers know that it is.
      if (way === "expired") aheadMs += 3_600_000;
      await raceOnce(refreshers, { aheadMs, meets }, raced);
    }
    return raced;
  });
}

async function raceOnce(
  { authorization, use, processes }: Refreshers,
  { aheadMs, meets }: { aheadMs: number; meets: Race["meets"] },
  raced: RacedRefreshes,
): Promise<void> {
  const fault = (text: string) => void raced.faults.push(`round ${raced.rounds}: ${text}`);
  await authorization.expireAccessTokens();
  await authorization.clearJournal();
  const { answers, faults } = await raceAll(processes, { use: { ...use, aheadMs }, meets });
  faults.forEach(fault);
  raced.answered += answers.length;
  raced.slowestMs = Math.max(raced.slowestMs, ...answers);
  const refreshes = (await authorization.requests("token", "refresh_token")).length;
  const { refreshToken, grantsRevoked } = await authorization.reuse();
  raced.refreshes += refreshes;
  if (refreshes !== 1) fault(`${refreshes} refreshes`);
  if (refreshToken !== 1) fault(`one refresh token was sent ${refreshToken} times`);
  if (grantsRevoked > 0) fault("the grant was revoked");
  raced.rounds += 1;
}
