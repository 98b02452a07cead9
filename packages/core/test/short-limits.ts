const symbol = Symbol.for("undici.globalDispatcher.1");

interface Dispatcher {
  readonly dispatch: (options: object, handler: unknown) => boolean;
}

/** Has the limits of Node's fetch for silent answers at 300 milliseconds in place of 300 seconds. */
export function shortenLimits(): Disposable {
  const known = globalThis as unknown as Record<symbol, Dispatcher>;
  const ofNode = known[symbol]!;
  known[symbol] = {
    dispatch: (options, handler) =>
      ofNode.dispatch({ headersTimeout: 300, bodyTimeout: 300, ...options }, handler),
  };
  return { [Symbol.dispose]: () => void (known[symbol] = ofNode) };
}
