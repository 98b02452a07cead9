import type { SessionStore } from "@durable-mcp/core";

/** Hands on everything to the store, optional methods included, and counts the calls by the method's name. */
export function countOperations(
  store: SessionStore,
  operations: Record<string, number>,
): SessionStore {
  const count = (name: string, by = 1) => (operations[name] = (operations[name] ?? 0) + by);
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: unknown[]): unknown => {
        count(name);
        if (name === "batch") count("batch rows", (args[0] as readonly unknown[]).length);
        return member.apply(target, args);
      };
    },
  });
}
