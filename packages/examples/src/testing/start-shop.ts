import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createClock,
  createFaultyServer,
  type SignIn,
  type StepContext,
} from "@durable-mcp/testing";
import { connectShop, type Places, user } from "./shop.ts";
import type { Chat } from "./step.ts";

/** A shop, a clock and a chat with one order. `onEnd` is `onTestFinished` of Vitest, or `after` of `node:test`. */
export async function startShop(onEnd: (end: () => Promise<void>) => void) {
  const clock = createClock();
  const tools = { order: ({ item }: { item: string }) => `Ordered ${item}.` };
  const server = await createFaultyServer({ tools, now: clock.now });
  const folder = mkdtempSync(join(tmpdir(), "shop-"));
  onEnd(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const turns = [[{ tool: "shop__order", input: { item: "tea" } }], "Done."];
  const chat: Chat = { url: server.url, path: join(folder, "sessions.db"), turns };
  return { clock, server, chat };
}

/** What the user does in a browser. */
export async function signInToShop(places: Places, signIn: SignIn, context?: Partial<StepContext>) {
  const { oauth, close } = connectShop(places, context);
  const use = { principal: user, connection: "shop", url: places.url };
  const start = await oauth.start(new Request("http://localhost:3000/oauth/start"), use);
  const callback = signIn.consent(start.headers.get("location")!);
  await oauth.callback(new Request(callback), use);
  await close();
}
