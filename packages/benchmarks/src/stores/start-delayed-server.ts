import { forkServer } from "../fork-server.ts";

export type DelayedServer = Awaited<ReturnType<typeof startDelayedServer>>;

export async function startDelayedServer() {
  const { origin, stop } = await forkServer(new URL("delayed-server-program.ts", import.meta.url));
  return {
    stop,
    /** @param delayMs how much later than at once it answers each request */
    url: (delayMs: number, tools: number) => `${origin}/${delayMs}/${tools}`,
  };
}
