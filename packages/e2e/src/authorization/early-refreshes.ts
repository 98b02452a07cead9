import type { StoreKind } from "../durable/store-place.ts";
import type { LoadReport } from "./refresher-protocol.ts";
import { type Refreshers, withRefreshers } from "./refreshers.ts";

export interface EarlyRefreshes {
  readonly requests: number;
  /** Tokens that the requests were sent with. */
  readonly tokens: number;
  /** Refreshes that the authorization server has seen. */
  readonly refreshes: number;
  /** Of each token but the first and the last: from its first use to that of the next, in milliseconds. */
  readonly shortestLifeMs: number;
  readonly longestLifeMs: number;
  /** The longest that a request took, in milliseconds. */
  readonly slowestMs: number;
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
  const tokens = new Map<string, [first: number, last: number]>();
  for (const [token, [first, last]] of reports.flatMap((report) => Object.entries(report.tokens))) {
    const [before = first, after = last] = tokens.get(token) ?? [];
    tokens.set(token, [Math.min(first, before), Math.max(last, after)]);
  }
  const uses = [...tokens.values()].toSorted(([first], [other]) => first - other);
  // From the first use of a token to that of the next. The first token is older than its first use.
  const spans = uses.slice(2).map(([first], index) => first - uses[index + 1]![0]);
  const oldestUseMs = Math.max(...uses.map(([first, last]) => last - first));
  const refreshes = (await authorization.requests("token", "refresh_token")).length;
  const { refreshToken, grantsRevoked } = await authorization.reuse();
  const bare = reports.reduce((sum, report) => sum + report.bare, 0);
  const result = {
    requests: reports.reduce((sum, report) => sum + report.requests, 0),
    tokens: tokens.size,
    refreshes,
    shortestLifeMs: Math.min(...spans),
    longestLifeMs: Math.max(...spans),
    slowestMs: Math.max(...reports.map((report) => report.slowestMs)),
    refused: locked.refusals().length,
  };
  const wrong: [boolean, string][] = [
    [refreshes !== tokens.size - 1, `${refreshes} refreshes for ${tokens.size} tokens`],
    [refreshToken > 1, `one refresh token was sent ${refreshToken} times`],
    [grantsRevoked > 0, "the grant was revoked"],
    // A tenth of its life before its end at the latest, and twice as long before at the earliest.
    [result.shortestLifeMs < 0.75 * lifeMs, `a token was in use for ${result.shortestLifeMs} ms`],
    [oldestUseMs > 0.95 * lifeMs, `a token was sent ${oldestUseMs} ms after its first use`],
    [bare > 0, `${bare} requests without a token`],
  ];
  const faults = wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : []));
  return { ...result, faults: [...faults, ...reports.flatMap(({ failures }) => failures)] };
}
