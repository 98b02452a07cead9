import { useCallback, useEffect, useRef, useState } from "react";
import { refusing } from "./refusal.ts";
import { type Failure, failureOf, pauseMs } from "./retry.ts";

/** How a page gets what the server knows. */
export interface ServerStateOptions<STATE> {
  /** The URL of a route of yours. A GET answers with the state, as JSON. */
  readonly api: string;
  /** What the page was rendered with. Later values are ignored. @default the hook asks when it is mounted */
  readonly initialState?: STATE | undefined;
  /** Takes the place of the global `fetch`, to add a header for example. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

interface ServerState<STATE> {
  readonly state: STATE | undefined;
  /** Why the last request brought none. The state is the one before. */
  readonly failure: Failure | undefined;
  /** Asks now. Gives `undefined` if it fails, or if a later request has taken its place. */
  readonly refresh: () => Promise<STATE | undefined>;
}

interface Known<STATE> {
  readonly api: string;
  readonly state?: STATE | undefined;
  readonly text?: string | undefined;
  readonly failure?: Failure | undefined;
}

/**
 * Keeps what the server knows. It looks again when the page is shown, gets the focus or is online, and, as long as
 * somebody sees the page, at intervals; after a failure with growing pauses.
 *
 * @param everyMs gives the interval for a state; `undefined`: no interval
 * @param onRead is told of each read, also of one that brought nothing new
 */
export function useServerState<STATE>(
  { api, initialState, fetch }: ServerStateOptions<STATE>,
  everyMs: (state: STATE) => number | undefined,
  onRead?: (state: STATE | undefined) => void,
): ServerState<STATE> {
  const [known, setKnown] = useState<Known<STATE>>({ api, state: initialState });
  // Another chat begins with nothing of this one.
  const current: Known<STATE> = known.api === api ? known : { api };
  const now = { fetch, everyMs, onRead, known: current };
  const latest = useRef({ ...now, failures: 0 }).current;
  Object.assign(latest, now);
  const request = useRef<AbortController>(undefined);

  const refresh = useCallback(async () => {
    request.current?.abort();
    const own = (request.current = new AbortController());
    const found = await get<STATE>(latest, api, own);
    if (request.current !== own) return undefined;
    request.current = undefined;
    const { known: before } = latest;
    const { failure } = found;
    latest.failures = failure ? latest.failures + 1 : 0;
    // What has not changed is not drawn again.
    if (failure?.error.message !== before.failure?.error.message || found.text !== before.text)
      setKnown((latest.known = failure ? { ...before, ...found } : found));
    const state = failure ? undefined : latest.known.state;
    latest.onRead?.(state);
    return state;
  }, [api, latest]);
  useEffect(() => {
    if (latest.known.state === undefined) void refresh();
    return () => {
      request.current?.abort();
      request.current = undefined;
    };
  }, [refresh, latest]);

  const { state, failure } = current;
  const ms = state === undefined || failure ? undefined : everyMs(state);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new AbortController();
    const { signal } = over;
    const plan = () => {
      const { failures, known: found } = latest;
      const isMissed = found.state === undefined || found.failure !== undefined;
      const pause = isMissed ? pauseMs(Math.max(1, failures)) : latest.everyMs(found.state);
      clearTimeout(timer);
      if (pause !== undefined && !signal.aborted) timer = setTimeout(() => void look(false), pause);
    };
    const look = async (isUrgent: boolean) => {
      const isSeen = document.visibilityState === "visible";
      if (isSeen && (isUrgent || request.current === undefined)) await refresh();
      plan();
    };
    const onShow = () => void look(false);
    // What was asked before is lost, and does not count.
    const onOnline = () => {
      latest.failures = 0;
      void look(true);
    };
    plan();
    window.addEventListener("focus", onShow, { signal });
    window.addEventListener("online", onOnline, { signal });
    document.addEventListener("visibilitychange", onShow, { signal });
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [ms, failure, refresh, latest]);

  return { state, failure, refresh };
}

async function get<STATE>(
  { fetch, failures }: Pick<ServerStateOptions<STATE>, "fetch"> & { readonly failures: number },
  api: string,
  own: AbortController,
): Promise<Known<STATE>> {
  // A route answers at once. A network may be slow.
  const limitMs = 4_000 + pauseMs(failures + 1, 1);
  const timer = setTimeout(() => own.abort(), limitMs);
  try {
    const headers = { accept: "application/json" };
    const response = await refusing(fetch)(api, { headers, signal: own.signal });
    const text = await response.text();
    return { api, text, state: JSON.parse(text) as STATE };
  } catch (thrown) {
    return { api, failure: failureOf(thrown) };
  } finally {
    clearTimeout(timer);
  }
}
