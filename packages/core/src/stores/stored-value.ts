import { guarded, warnOnce } from "../base/observe.ts";
import type { StoreDriver, StoredText } from "./driver.ts";
import type { JsonValue, StoredValue } from "./session-store.ts";

/**
 * A function that makes the stored value of what a driver has. Its `value` is parsed when it is first read,
 * so who knows the revision already pays nothing. Another program may have written it.
 */
export function createValueReader({
  name,
  onUnreadable,
}: StoreDriver): (stored: StoredText) => StoredValue {
  const tellUnreadable = guarded(
    onUnreadable ??
      warnOnce(
        () =>
          `The ${name} store has a value that is not JSON. It counts as none, and the next save replaces it.`,
      ),
  );
  return ({ text, revision }) => {
    let parsed: JsonValue | undefined;
    return {
      get value() {
        if (parsed !== undefined) return parsed;
        try {
          parsed = JSON.parse(text) as JsonValue;
        } catch {
          parsed = null;
          tellUnreadable();
        }
        return parsed;
      },
      revision,
    };
  };
}
