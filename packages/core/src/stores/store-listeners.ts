/** The subscribers of one process, by their topics. */
export type StoreListeners = ReturnType<typeof createStoreListeners>;

/** Keeps the listeners of each topic, for a driver with `publish` and `subscribe`. */
export function createStoreListeners({
  isHearing,
  onTopic,
}: {
  /** Whether notices of the topic arrive already: then `add` calls the new listener once, soon. */
  readonly isHearing: (topic: string) => boolean;
  /** Called when a topic has its first listener, and when its last one has gone. */
  readonly onTopic?: (topic: string, isUsed: boolean) => void;
}) {
  const topics = new Map<string, Set<() => void>>();
  /** Calls the listeners of a topic. */
  const tell = (topic: string): void => {
    for (const call of [...(topics.get(topic) ?? [])]) call();
  };
  return {
    /** Adds a listener. @returns removes it; there are no calls after that */
    add: (topic: string, listener: () => void): (() => void) => {
      let isOver = false;
      // Each is its own, because the same function may come twice.
      const call = () => isOver || listener();
      const calls = topics.get(topic);
      if (calls) calls.add(call);
      else {
        topics.set(topic, new Set([call]));
        onTopic?.(topic, true);
      }
      if (isHearing(topic)) queueMicrotask(call);
      return () => {
        if (isOver) return;
        isOver = true;
        const others = topics.get(topic)!;
        others.delete(call);
        if (others.size > 0) return;
        topics.delete(topic);
        onTopic?.(topic, false);
      };
    },
    tell,
    /** Calls all listeners: when notices begin to arrive, or one may have been missed. */
    tellAll: (): void => {
      for (const topic of [...topics.keys()]) tell(topic);
    },
    /** Whether the topic has a listener. */
    has: (topic: string) => topics.has(topic),
    /** The topics that have a listener. */
    topics: () => [...topics.keys()],
  };
}
