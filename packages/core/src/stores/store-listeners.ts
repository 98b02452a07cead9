/** The subscribers of one process, by their topics. */
export interface StoreListeners {
  /** Adds a listener. @returns removes it; it is not called any more */
  readonly add: (topic: string, listener: () => void) => () => void;
  /** Calls the listeners of a topic. */
  readonly tell: (topic: string) => void;
  /** Calls all of them: notices come from now on, or one may have been missed. */
  readonly tellAll: () => void;
  /** Whether the topic has a listener. */
  readonly has: (topic: string) => boolean;
  /** The topics that have a listener. */
  readonly topics: () => string[];
}

/** When a process hears of notices. */
export interface StoreListenersOptions {
  /** Whether notices of it come already: then a new listener is called once, soon. Otherwise `tell` does that. */
  readonly isHearing: (topic: string) => boolean;
  /** Called when a topic has its first listener, and when its last one has gone. */
  readonly onTopic?: ((topic: string, isUsed: boolean) => void) | undefined;
}

/** Creates the list of those who want to hear of notices, for a driver with `publish` and `subscribe`. */
export function createStoreListeners({
  isHearing,
  onTopic,
}: StoreListenersOptions): StoreListeners {
  const topics = new Map<string, Set<() => void>>();
  const tell = (topic: string) => {
    for (const call of [...(topics.get(topic) ?? [])]) call();
  };
  return {
    add(topic, listener) {
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
    tellAll() {
      for (const topic of [...topics.keys()]) tell(topic);
    },
    has: (topic) => topics.has(topic),
    topics: () => [...topics.keys()],
  };
}
