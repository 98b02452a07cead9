import type { StoreKind } from "../durable/store-place.ts";
import type { LoadReport } from "./refresher-protocol.ts";
import { type Refreshers, withRefreshers } from "./refreshers.ts";

export interface EarlyRefreshes {
  readonly requests: number;
  /** Tokens that the processes got. */
  readonly tokens: number;
  /** Refreshes that the authorization server has seen. */
  readonly refreshes: number;
  /** From one refresh to the next, in milliseconds. */
  readonly shortestLifeMs: number;
  readonly longestLifeMs: number;
  /** The longest that a request took, in milliseconds. */
  readonly slowestMs: number;
  /** How often a token was got after its end. */
  readonly stale: number;
  /** Requests that were so slow that the token's end came first. They were sent again with another one. */
  readonly refused: number;
  /** One line each. */
  readonly faults: readonly string[];
}

const lifeMs = 10_000;

/** Processes send requests all the time, for so many lives of a token. */
export async function refreshEarly({
  lives,
  ...options
}: {
  store: StoreKind;
  processes: number;
  lives: number;
}): Promise<EarlyRefreshes> {
  const world = { ...options, accessTokenSeconds: lifeMs / 1_000 };
  return await withRefreshers(world, async (refreshers) => {
    const { processes, use } = refreshers;
    const untilMs = Date.now() + lives * lifeMs;
    for (const each of processes) each.send({ type: "load", use, everyMs: 500, untilMs });
    const loaded = await Promise.all(processes.map((each) => each.receive()));
    const reports = loaded.map((report) => {
      if (report.type !== "loaded") throw new Error(`${report.type} came instead of loaded.`);
      return report;
    });
    return await judge(refreshers, reports);
  });
}

async function judge(
  { authorization, locked }: Refreshers,
  reports: readonly LoadReport[],
): Promise<EarlyRefreshes> {
  const ends = Object.values(Object.assign({}, ...reports.map((report) => report.tokens)) as object)
    .map(Number)
    .toSorted((one, other) => one - other);
  // Each token lives as long as the others, so their ends are as far from each other as their beginnings.
  const spans = ends.slice(1).map((end, index) => end - ends[index]!);
  const refreshes = (await authorization.requests("token", "refresh_token")).length;
  const { refreshToken, grantsRevoked } = await authorization.reuse();
  const sum = (count: "requests" | "bare" | "stale") =>
    reports.reduce((all, report) => all + report[count], 0);
  const result = {
    requests: sum("requests"),
    tokens: ends.length,
    refreshes,
    shortestLifeMs: Math.min(...spans),
    longestLifeMs: Math.max(...spans),
    slowestMs: Math.max(...reports.map((report) => report.slowestMs)),
    stale: sum("stale"),
    refused: locked.refusals().length,
  };
  const wrong: [boolean, string][] = [
    [refreshes !== ends.length - 1, `${refreshes} refreshes for ${ends.length} tokens`],
    [refreshToken > 1, `one refresh token was sent ${refreshToken} times`],
    [grantsRevoked > 0, "the grant was revoked"],
    // It is a fifth of a life at most that is left.
    [result.shortestLifeMs < 0.8 * lifeMs, `refreshed after ${result.shortestLifeMs} ms`],
    [sum("bare") > 0, `${sum("bare")} times there was no token`],
  ];
  const faults = wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : []));
  return { ...result, faults: [...faults, ...reports.flatMap(({ failures }) => failures)] };
}
