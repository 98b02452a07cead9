import { once } from "./once.ts";

/** The methods of an object whose code is loaded when one of them is first called: most processes call none. */
export function loadedLater<T extends object>(
  names: readonly (keyof T & string)[],
  load: () => Promise<T>,
): T {
  const loaded = once(load);
  const methods = names.map((name) => [
    name,
    async (...args: unknown[]) =>
      await ((await loaded()) as Readonly<Record<string, (...args: unknown[]) => unknown>>)[name]!(
        ...args,
      ),
  ]);
  return Object.fromEntries(methods) as T;
}
