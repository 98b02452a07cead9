import { createStoreListeners, type StoreDriver } from "@durable-mcp/core/store-driver";
import { sha256 } from "./query.ts";

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
/** How long a connection without subscribers stays open, in milliseconds. */
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
 * `subscribe` of the PostgreSQL store. It has a connection of its own that listens while there are subscribers.
 * It is none of the pool's, because the pool's `end` would wait for it. When it has been away, all listeners
 * are called.
 */
export function createPostgresNotices(
  pool: ConnectingPool,
  channel: string,
): NonNullable<StoreDriver["subscribe"]> {
  const topics = new Map<string, string>();
  let current: ListeningClient | undefined;
  let isListening = false;
  let timer: NodeJS.Timeout | undefined;

  const listeners = createStoreListeners({
    isHearing: () => isListening,
    onTopic(topic, isUsed) {
      if (isUsed) topics.set(noticePayload(topic), topic);
      else topics.delete(noticePayload(topic));
      if (topics.size === 0) later(unusedMs, leave);
      else if (current === undefined) void listen(firstPauseMs);
      else if (isListening) clearTimeout(timer);
    },
  });
  const later = (ms: number, run: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(run, ms).unref();
  };
  const leave = () => {
    if (topics.size > 0) return;
    const last = current;
    current = undefined;
    isListening = false;
    last?.end().catch(() => undefined);
  };
  const listen = async (pauseMs: number): Promise<void> => {
    clearTimeout(timer);
    const client = new pool.Client(pool.options);
    current = client;
    const onEnd = () => {
      if (current !== client) return;
      current = undefined;
      isListening = false;
      client.end().catch(() => undefined);
      // PostgreSQL is away. Whoever publishes hears of that; here the next try follows.
      if (topics.size > 0) later(pauseMs, () => void listen(Math.min(2 * pauseMs, maxPauseMs)));
    };
    client.on("error", onEnd);
    client.on("end", onEnd);
    client.on("notification", ({ payload = "" }) => {
      const topic = topics.get(payload);
      if (topic !== undefined) listeners.tell(topic);
    });
    try {
      await client.connect();
      // The application's own connections decide how long the process lives.
      client.unref();
      await client.query(`LISTEN ${channel}`);
      if (current !== client) return;
      isListening = true;
      if (topics.size === 0) later(unusedMs, leave);
      listeners.tellAll();
    } catch {
      onEnd();
    }
  };
  return listeners.add;
}
