import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { startCountingProxy } from "./counting-proxy.ts";

// A client that waits for them may open a second stream, and the proxy counts both.
test("gives the headers of a stream before its first event", async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await startCountingProxy(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  try {
    const response = await fetch(proxy.url, { signal: AbortSignal.timeout(5_000) });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await response.body!.cancel();
    expect(proxy.counts).toEqual({ GET: 1 });
  } finally {
    await proxy.close();
    server.close();
    server.closeAllConnections();
  }
});
