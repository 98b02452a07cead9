import { createStoreListeners, type StoreDriver } from "@durable-mcp/core/store-driver";
import type { IoRedisClient, RedisClient, RedisSubscriber } from "./clients.ts";

/** A client that can make another one with its options. */
interface SingleClient {
  duplicate(): OwnSubscriber;
  unref(): void;
}

interface OwnSubscriber extends RedisSubscriber {
  connect(): Promise<unknown>;
  unref(): void;
  destroy(): void;
}

/** How long to wait after a failure, and before an unused connection is closed, in milliseconds. */
const pauseMs = 1_000;
const unusedMs = 1_000;

/** Where subscribers hear of notices; `undefined` if there is no connection for them. */
export function subscriberSource(
  client: RedisClient | IoRedisClient,
  given: RedisSubscriber | undefined,
): SubscriberSource | undefined {
  if (given !== undefined) return givenSubscriber(given);
  // Pools, clusters and clients of `ioredis` have no `unref`.
  const { duplicate, unref } = client as Partial<SingleClient>;
  return duplicate && unref && duplicatedSubscriber(client as unknown as SingleClient);
}

/**
 * `subscribe` of the Redis store, with a channel for each topic. A client subscribes again by itself when its
 * connection is back; then all listeners are called.
 */
export function createRedisNotices(
  { open, rest }: SubscriberSource,
  channelOf: (topic: string) => string,
): NonNullable<StoreDriver["subscribe"]> {
  /** What is called for a channel, by the topics that are subscribed to. */
  const heard = new Map<string, () => void>();
  const busy = new Set<string>();
  const listeners = createStoreListeners({
    isHearing: (topic) => heard.has(topic),
    onTopic: (topic) => void follow(topic),
  });
  const events = {
    onBack: () => listeners.tellAll(),
    onLost() {
      heard.clear();
      for (const topic of listeners.topics()) void follow(topic);
    },
  };
  const change = async (topic: string): Promise<void> => {
    const subscriber = await open(events);
    const told = heard.get(topic);
    if (told !== undefined) {
      heard.delete(topic);
      await subscriber.unsubscribe(channelOf(topic), told);
      return;
    }
    const tell = () => listeners.tell(topic);
    await subscriber.subscribe(channelOf(topic), tell);
    heard.set(topic, tell);
    tell();
  };
  /** Subscribes and unsubscribes until it is as the listeners want it. */
  const follow = async (topic: string): Promise<void> => {
    if (busy.has(topic)) return;
    busy.add(topic);
    try {
      while (listeners.has(topic) !== heard.has(topic)) await change(topic);
    } catch {
      // Redis is away, or refuses. Whoever publishes hears of that; here the next try follows.
      setTimeout(() => void follow(topic), pauseMs).unref();
    }
    busy.delete(topic);
    if (listeners.topics().length === 0 && busy.size === 0) rest();
  };
  return listeners.add;
}

interface SubscriberSource {
  /** The connected client of the subscribers. */
  readonly open: (events: SubscriberEvents) => Promise<RedisSubscriber>;
  /** Says that nobody subscribes any more. */
  readonly rest: () => void;
}

interface SubscriberEvents {
  /** It was away, and has subscribed again. */
  readonly onBack: () => void;
  /** It has ended, with all that it was subscribed to. */
  readonly onLost: () => void;
}

/** The application's own client for subscribers. */
function givenSubscriber(subscriber: RedisSubscriber): SubscriberSource {
  let isWatched = false;
  return {
    async open({ onBack }) {
      if (!isWatched) subscriber.on("ready", onBack);
      isWatched = true;
      return subscriber;
    },
    rest: () => undefined,
  };
}

/** A duplicate of the client, made when it is needed, and closed when it no longer is. */
function duplicatedSubscriber(client: SingleClient): SubscriberSource {
  let current: Promise<OwnSubscriber> | undefined;
  let closing: NodeJS.Timeout | undefined;

  const start = async ({ onBack, onLost }: SubscriberEvents): Promise<OwnSubscriber> => {
    const made = client.duplicate();
    // It connects again by itself, as the application's client does, which reports the failures.
    made.on("error", () => undefined);
    try {
      await made.connect();
    } catch (error) {
      current = undefined;
      throw error;
    }
    // The application's own connections decide how long the process lives.
    made.unref();
    made.on("ready", onBack);
    made.on("end", () => {
      if (current === undefined) return;
      current = undefined;
      onLost();
    });
    return made;
  };
  return {
    open(events) {
      clearTimeout(closing);
      return (current ??= start(events));
    },
    rest() {
      clearTimeout(closing);
      closing = setTimeout(() => {
        const last = current;
        current = undefined;
        void last?.then(
          (made) => made.destroy(),
          () => undefined,
        );
      }, unusedMs).unref();
    },
  };
}
