const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs a clean-up when this process ends, on Ctrl-C too. It must not need to wait for anything. */
export function atExit(cleanUp: () => void): void {
  process.on("exit", cleanUp);
  for (const signal of signals) {
    if (!process.listeners(signal).includes(endOrderly)) process.on(signal, endOrderly);
  }
}

function endOrderly(_signal: NodeJS.Signals, number: number): void {
  process.exit(128 + number);
}
