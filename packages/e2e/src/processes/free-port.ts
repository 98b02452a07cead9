import { createServer } from "node:net";

/**
 * Below the ports that systems give to those who ask for any, and to outgoing connections. One of those is
 * sometimes taken before the server that is to have it listens.
 */
const range = { from: 10_240, to: 32_000 };
const given = new Set<number>();

/** A TCP port on 127.0.0.1 that nobody listens on; another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range.from + Math.floor(Math.random() * (range.to - range.from));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
