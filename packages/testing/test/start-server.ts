import { onTestFinished } from "vitest";
import { createFaultyServer, type FaultyServerOptions } from "../src/index.ts";

/** A shop that is closed when the test ends. */
export async function startServer(options: Partial<FaultyServerOptions> = {}) {
  const tools = { order: ({ item }: { item: string }) => `Ordered ${item}.` };
  const server = await createFaultyServer({ tools, ...options });
  onTestFinished(() => server.close());
  return server;
}
