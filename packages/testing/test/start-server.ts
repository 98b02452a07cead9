import { onTestFinished } from "vitest";
import { createFaultyServer } from "../src/index.ts";

/** A shop that is closed when the test ends. */
export async function startServer(options: Partial<Parameters<typeof createFaultyServer>[0]> = {}) {
  const tools = { order: ({ item }: { item: string }) => `Ordered ${item}.` };
  const server = await createFaultyServer({ tools, ...options });
  onTestFinished(() => server.close());
  return server;
}
