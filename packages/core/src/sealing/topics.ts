import type { SessionStore } from "../stores/session-store.ts";
import { isStoreText } from "../stores/store-arguments.ts";

/**
 * The topics of an encrypted store.
 *
 * @param outerKey the name in the store: a topic may be a key with a principal, which nobody may read there
 */
export function topicsOf(
  store: SessionStore,
  outerKey: ((key: string) => Promise<string>) | undefined,
): Pick<SessionStore, "publish" | "subscribe"> {
  if (!store.publish || !store.subscribe) return {};
  const subscribe = store.subscribe.bind(store);
  const publish = store.publish.bind(store);
  if (outerKey === undefined) return { publish, subscribe };
  return {
    publish: async (topic) => await publish(await outerKey(topic)),
    subscribe(topic, listener) {
      if (!isStoreText(topic)) return subscribe(topic, listener);
      let end: (() => void) | undefined;
      let isOver = false;
      const begin = async () => {
        const outer = await outerKey(topic);
        if (!isOver) end = subscribe(outer, listener);
      };
      void begin();
      return () => {
        isOver = true;
        end?.();
      };
    },
  };
}
