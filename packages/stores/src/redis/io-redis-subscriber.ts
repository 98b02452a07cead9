import type { OwnSubscriber, RedisSubscriber } from "./clients.ts";

/** The part of an `ioredis` client that hears of notices. */
export interface IoRedisSubscriber {
  /** Begins to listen to channels. */
  subscribe(...channels: string[]): Promise<unknown>;
  /** Stops listening to channels. */
  unsubscribe(...channels: string[]): Promise<unknown>;
  /** Hears of messages, and of the connection's state. */
  on(event: string, listener: (...values: any[]) => void): unknown;
}

/** The part of an `ioredis` client that a store needs for a connection of its own. */
export interface IoRedisConnection extends IoRedisSubscriber {
  connect(): Promise<unknown>;
  disconnect(): void;
  readonly stream?: { unref?(): unknown };
}

/** One for each client, because a client subscribes once for all stores that share it. */
const subscribers = new WeakMap<IoRedisSubscriber, RedisSubscriber>();

/** The client as one of `redis`, which has a listener for each channel. */
export function asSubscriber(client: IoRedisSubscriber): RedisSubscriber {
  const known = subscribers.get(client);
  if (known) return known;
  const heard = new Map<string, Set<(message: string, channel: string) => void>>();
  client.on("message", (channel: string, message: string) => {
    for (const listener of heard.get(channel) ?? []) listener(message, channel);
  });
  const subscriber: RedisSubscriber = {
    async subscribe(channel, listener) {
      heard.set(channel, (heard.get(channel) ?? new Set()).add(listener));
      await client.subscribe(channel);
    },
    async unsubscribe(channel, listener) {
      heard.get(channel)?.delete(listener);
      if (heard.get(channel)?.size !== 0) return;
      heard.delete(channel);
      await client.unsubscribe(channel);
    },
    on(event, listener) {
      if (event !== "ready") return client.on(event, listener);
      // It is ready before it has subscribed again, and what is published in between is lost.
      return client.on("ready", () => {
        if (heard.size === 0) return;
        client.subscribe(...heard.keys()).then(listener, () => undefined);
      });
    },
  };
  subscribers.set(client, subscriber);
  return subscriber;
}

/** A client that the store has made, and connects and closes. */
export function asOwnSubscriber(client: IoRedisConnection): OwnSubscriber {
  client.on("connect", () => client.stream?.unref?.());
  return {
    ...asSubscriber(client),
    connect: () =>
      client.connect().catch((error: unknown) => {
        // It would go on trying.
        client.disconnect();
        throw error;
      }),
    unref: () => undefined,
    destroy: () => client.disconnect(),
  };
}
