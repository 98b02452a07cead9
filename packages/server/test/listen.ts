import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves over HTTP on a free port of 127.0.0.1 until the test ends. */
export async function listen(
  listener: RequestListener,
): Promise<{ url: string; [Symbol.asyncDispose]: () => Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
