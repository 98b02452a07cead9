import { once } from "./once.ts";

/** Calls `use` with what it lends, which lasts until `use` is done. */
export type Lend<T> = <RESULT>(use: (lent: T) => Promise<RESULT>) => Promise<RESULT>;

/** Methods of an object that is lent for each call. */
export function lentMethods<T extends object, NAME extends keyof T>(
  names: readonly NAME[],
  lend: Lend<T>,
): Pick<T, NAME> {
  type Method = (...args: unknown[]) => unknown;
  const methods = names.map((name) => [
    name,
    async (...args: unknown[]) => await lend(async (lent) => await (lent[name] as Method)(...args)),
  ]);
  return Object.fromEntries(methods) as Pick<T, NAME>;
}

/** The methods of an object whose code is loaded when one of them is first called: most processes call none. */
export function loadedLater<T extends object>(
  names: readonly (keyof T & string)[],
  load: () => Promise<T>,
): T {
  const loaded = once(load);
  return lentMethods<T, keyof T>(names, async (use) => await use(await loaded()));
}
