import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll } from "vitest";
import type { TestServer } from "./server-process.ts";

/** Has a server for the tests of a file or of a `describe`, and a proxy before it. */
export function useServer<SERVER extends TestServer>(start: () => Promise<SERVER>) {
  let server: SERVER;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    server = await start();
    proxy = await createFaultyProxy({ target: server.url });
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });
  return {
    get server() {
      return server;
    },
    get proxy() {
      return proxy;
    },
  };
}
