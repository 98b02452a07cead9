import { createStoreListeners, type StoreDriver } from "@durable-mcp/core/store-driver";
import { sha256 } from "./query.ts";

/**
 * Listens to a channel until the function that it returns is called. It calls `onPayload` with the payload of
 * each notice. It calls `onReady` when it begins to hear, and again after each gap in which it may have missed
 * a notice. If it does not connect again by itself, it calls `onEnd` when it has ended; then it is called anew.
 */
export type ListenToPostgres = (
  channel: string,
  onPayload: (payload: string) => void,
  onReady: () => void,
  onEnd: () => void,
) => (() => unknown) | PromiseLike<() => unknown>;

/** A connection of its own, as `pg` makes it. */
interface ListeningClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
  unref(): void;
  on(event: "notification", listener: (notice: { readonly payload?: string }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
}

/** A `Pool` of `pg` knows how to make connections. */
interface ConnectingPool {
  readonly Client: new (options: object) => ListeningClient;
  readonly options: object;
}

/** The pauses between two tries to connect, in milliseconds; each is twice the one before. */
const firstPauseMs = 100;
const maxPauseMs = 5_000;
/** How long a notice of the store to itself may take, in milliseconds. */
const echoMs = 2_000;
/** How often subscribers are called where no notice arrives, in milliseconds. */
const pollMs = 500;
/** How long it listens without subscribers, in milliseconds. */
const unusedMs = 1_000;

/** Whether the store can make a connection of its own, beside the pool's. */
export function isConnectingPool(pool: object): pool is ConnectingPool {
  const { Client, options } = pool as Partial<ConnectingPool>;
  return typeof Client === "function" && typeof options === "object";
}

/** The name of the one channel for the notices of a table. */
export function noticeChannel(table = "mcp_sessions"): string {
  return `durable_mcp_${Buffer.from(sha256(table)).toString("hex").slice(0, 32)}`;
}

/** What is sent in the place of a topic, which may be long, and have characters that PostgreSQL refuses. */
export function noticePayload(topic: string): string {
  return Buffer.from(sha256(topic)).toString("base64url");
}

/**
 * `subscribe` of the PostgreSQL store, which listens while there are subscribers. Each time it begins to hear,
 * it calls all of them. A pooler may take `LISTEN` and pass nothing on: so the store sends a notice to itself, and
 * calls all subscribers now and then if that does not come.
 */
export function createPostgresNotices(
  listen: ListenToPostgres,
  channel: string,
  { notify, onDeaf }: Echo = { notify: async () => undefined },
): NonNullable<StoreDriver["subscribe"]> {
  const topics = new Map<string, string>();
  let current: Promise<() => unknown> | undefined;
  let isHearing = false;
  let pauseMs = firstPauseMs;
  let timer: NodeJS.Timeout | undefined;
  let deafness: NodeJS.Timeout | undefined;

  const listeners = createStoreListeners({
    isHearing: () => isHearing,
    onTopic(topic, isUsed) {
      if (isUsed) topics.set(noticePayload(topic), topic);
      else topics.delete(noticePayload(topic));
      if (topics.size === 0) later(unusedMs, () => topics.size === 0 && stop());
      else if (current === undefined) start();
    },
  });
  const later = (ms: number, run: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(run, ms).unref();
  };
  const hears = () => clearTimeout(deafness);
  const checkHearing = () => {
    if (onDeaf === undefined) return;
    hears();
    deafness = setTimeout(() => {
      onDeaf();
      deafness = setInterval(listeners.tellAll, pollMs).unref();
    }, echoMs).unref();
    // From another connection. If the database is away, the end of the listening one tells.
    notify(echo).catch(() => undefined);
  };
  const onPayload = (payload: string) => {
    hears();
    const topic = topics.get(payload);
    if (topic !== undefined) listeners.tell(topic);
  };
  const start = () => {
    clearTimeout(timer);
    const onReady = () => {
      if (current !== started) return;
      isHearing = true;
      pauseMs = firstPauseMs;
      listeners.tellAll();
      checkHearing();
    };
    const onEnd = () => {
      if (current !== started) return;
      stop();
      // PostgreSQL is away. Whoever publishes hears of that; here the next try follows.
      if (topics.size > 0) later(pauseMs, start);
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    };
    const started = Promise.resolve().then(() => listen(channel, onPayload, onReady, onEnd));
    current = started;
    started.catch(onEnd);
  };
  const stop = () => {
    current?.then((end) => end()).catch(() => undefined);
    current = undefined;
    isHearing = false;
    hears();
  };
  return listeners.add;
}

/** How the store finds out whether notices arrive. */
interface Echo {
  /** Sends a notice with this payload. */
  readonly notify: (payload: string) => Promise<unknown>;
  /** Called when none arrives. */
  readonly onDeaf?: () => void;
}

/** No topic has it. */
const echo = "echo";

/** Listens on a connection of its own. It is none of the pool's, because the pool's `end` would wait for it. */
export function listenThroughPool(pool: ConnectingPool): ListenToPostgres {
  return (channel, onPayload, onReady, onEnd) => {
    const client = new pool.Client(pool.options);
    client.on("error", onEnd);
    client.on("end", onEnd);
    client.on("notification", ({ payload = "" }) => onPayload(payload));
    const start = async () => {
      await client.connect();
      // The application's own connections decide how long the process lives.
      client.unref();
      await client.query(`LISTEN ${channel}`);
      onReady();
    };
    start().catch(onEnd);
    return () => client.end();
  };
}
