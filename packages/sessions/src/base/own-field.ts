import { isRecord } from "@durable-mcp/core/internal";

/** The value of an object's own key; `undefined` for inherited keys, and for what is no object. */
export function ownField(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
