/** The subscribers of one process, by their topics. */
export type StoreListeners = ReturnType<typeof createStoreListeners>;

/** Creates the list of those who want to hear of notices, for a driver with `publish` and `subscribe`. */
export function createStoreListeners({
  isHearing,
  onTopic,
}: {
  /** Whether notices of it come already: then a new listener is called once, soon. Otherwise `tell` does that. */
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
    /** Adds a listener. @returns removes it; it is not called any more */
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
    /** Calls all of them: notices come from now on, or one may have been missed. */
    tellAll: (): void => {
      for (const topic of [...topics.keys()]) tell(topic);
    },
    /** Whether the topic has a listener. */
    has: (topic: string) => topics.has(topic),
    /** The topics that have a listener. */
    topics: () => [...topics.keys()],
  };
}
