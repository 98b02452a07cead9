import { useCallback, useEffect, useRef, useState } from "react";

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
  readonly error: Error | undefined;
  /** Asks now. Gives `undefined` if it fails, or if a later request has taken its place. */
  readonly refresh: () => Promise<STATE | undefined>;
}

interface Known<STATE> {
  readonly api: string;
  readonly state?: STATE | undefined;
  readonly text?: string | undefined;
  readonly error?: Error | undefined;
}

/**
 * Keeps what the server knows. It looks again when the page is shown or gets the focus, and, as long as somebody sees
 * the page, at intervals.
 *
 * @param everyMs gives the interval for a state; `undefined`: no interval
 */
export function useServerState<STATE>(
  { api, initialState, fetch }: ServerStateOptions<STATE>,
  everyMs: (state: STATE) => number | undefined,
): ServerState<STATE> {
  const [known, setKnown] = useState<Known<STATE>>({ api, state: initialState });
  // Another chat begins with nothing of this one.
  const { state, text, error }: Known<STATE> = known.api === api ? known : { api };
  const latest = useRef({ fetch, state, text, error });
  latest.current = { fetch, state, text, error };
  const request = useRef<AbortController>(undefined);

  const load = useCallback(
    async (isLook: boolean) => {
      request.current?.abort();
      const own = (request.current = new AbortController());
      const found = await get<STATE>(latest.current.fetch, api, own.signal);
      if (own.signal.aborted) return undefined;
      request.current = undefined;
      const { fetch: _, ...before } = latest.current;
      const isNew = found.text !== before.text || found.error?.message !== before.error?.message;
      // What has not changed is not drawn again.
      if (!isLook || isNew) setKnown(found.error ? { ...before, ...found } : found);
      return found.state;
    },
    [api],
  );
  useEffect(() => {
    if (latest.current.state === undefined) void load(false);
    return () => {
      request.current?.abort();
      request.current = undefined;
    };
  }, [load]);

  const ms = state === undefined || error ? retryMs : everyMs(state);
  useEffect(() => {
    const look = () => {
      const isSeen = document.visibilityState === "visible";
      if (isSeen && request.current === undefined) void load(true);
    };
    const timer = ms === undefined ? undefined : setInterval(look, ms);
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [ms, load]);

  const refresh = useCallback(async () => await load(false), [load]);
  return { state, error, refresh };
}

const retryMs = 5_000;

async function get<STATE>(
  fetch: typeof globalThis.fetch = globalThis.fetch,
  api: string,
  signal: AbortSignal,
): Promise<Known<STATE>> {
  try {
    const response = await fetch(api, { headers: { accept: "application/json" }, signal });
    if (!response.ok) throw new Error(`a GET of ${api} was answered with ${response.status}.`);
    const text = await response.text();
    return { api, text, state: JSON.parse(text) as STATE };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { api, error: new Error(`The page may be old: ${reason}`, { cause }) };
  }
}
