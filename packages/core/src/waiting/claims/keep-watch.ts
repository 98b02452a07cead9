import { randomToken } from "../../base/random-token.ts";
import { type AskServer, lookAtResource } from "../legs/watched-resource.ts";
import { heldAs, isOpen, renews } from "../record/waiting-life.ts";
import {
  commonOf,
  newestVersion,
  type WaitingRecord,
  type WatchCall,
} from "../record/waiting-record.ts";
import { beginCall, callId, type CallIdentity, upToDate } from "./current-call.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";

export interface Watch {
  readonly connection: string;
  readonly url: URL;
  /** Asks for news. */
  readonly request: Pick<WaitingRecord["request"], "method" | "params">;
  readonly intervalMs: number;
  readonly ask: AskServer;
}

/** A step that watches again has a watch last longer when so much of its time is over. */
const renewedAfter = 0.1;

const identityOf = ({ connection, request }: Pick<Watch, "connection" | "request">) =>
  ({
    ...{ connection, method: request.method, input: request.params, scope: "watch" },
  }) satisfies CallIdentity;

/** A watch that there is: however many steps watch the same, there is one. */
export async function findWatch(
  { calls }: WaitingContext,
  watch: Pick<Watch, "connection" | "request">,
): Promise<WaitingRecord | undefined> {
  const call = (await calls.read(await callId(identityOf(watch))))?.call;
  return call && isOpen(call) ? call : undefined;
}

/**
 * Begins to watch, or has a watch last longer. A new one asks the server, for what is there now is no news.
 *
 * @throws {McpSessionError} `STORE_FAILED`; the error of `ask`
 */
export async function keepWatch(context: WaitingContext, watch: Watch): Promise<WaitingRecord> {
  const { calls, limits, now } = context;
  const { url, request, intervalMs, ask } = watch;
  const own = { ...request, headers: {} };
  const id = await callId(identityOf(watch));
  for (;;) {
    const stored = await calls.read(id);
    const known = stored && (await upToDate(context, stored));
    if (known && isOpen(known.call) && known.call.type === "watch") {
      const { call } = known;
      const isNew = call.expiresAt - now() > (1 - renewedAfter) * limits.maxAgeMs;
      const isSame = call.url === url.href && call.held.intervalMs === intervalMs;
      if (isNew && isSame) return call;
      const use = { expiresAt: now() + limits.maxAgeMs, intervalMs };
      const next = { ...renews(call, { ...call.held, ...use }, now()), url: url.href };
      if (await calls.replace(known, next)) return next;
      continue;
    }
    const { position } = await lookAtResource(undefined, (bounded) => ask(request, bounded));
    const begun = await beginCall(context, identityOf(watch), { url, request: own });
    const held = { type: "watch", since: randomToken(), intervalMs, place: 0, position } as const;
    const next: WatchCall = {
      ...commonOf(begun),
      ...{ id, version: newestVersion, state: "waiting", pollAfter: now() + intervalMs },
      ...(heldAs(held) as Pick<WatchCall, "type" | "held">),
    };
    const kept = known ? await calls.replace(known, next) : await calls.create(next);
    if (kept?.call !== next) continue;
    await tellWaiting(context, next);
    return next;
  }
}
