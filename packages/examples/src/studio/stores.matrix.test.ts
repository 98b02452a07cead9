/** What the studio's pages cost on each store, under a path of Hono. */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createStudio } from "@durable-mcp/ai-sdk/studio";
import type { SessionStore } from "@durable-mcp/core";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { openBrowser } from "../../../ai-sdk/test/studio/studio-browser.ts";
import {
  openStoreAt,
  startStorePlace,
  storeKinds,
  storeUnavailable,
} from "../../../e2e/src/durable/store-place.ts";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";

const principal = { type: "user", issuer: "https://shop.example", id: "ada" } as const;

describe.each(storeKinds)("on %s", (kind) => {
  test.skipIf(storeUnavailable[kind] !== undefined)(
    "a thousand chats cost ten operations of the store at most, for each page",
    async () => {
      const place = await startStorePlace(kind);
      onTestFinished(async () => await place.remove());
      const { store, close } = await openStoreAt(place);
      onTestFinished(async () => await close?.());
      const shop = await startAskingServer();
      const operations: string[] = [];
      const sessions = createDurableSessions({
        connections: {
          shop: defineMcpClientConnection({ url: shop.url, description: "A shop.", waiting: true }),
        },
        store: counted(store, operations),
        onEvent: () => undefined,
      });
      const order = async (chat: string) =>
        await sessions.run(chat, { principal }, async (run) => {
          await run.call("shop", "order", { item: "tea" });
        });
      for (let at = 0; at < 1_000; at += 20)
        await Promise.all(
          Array.from({ length: 20 }, async (_, n) => await order(`chat-${at + n}`)),
        );
      const may = ["look", "answer", "end"] as const;
      const studio = createStudio({ sessions, authorize: () => ({ name: "carol", may }) });
      const app = new Hono().basePath("/under").all("/studio", (c) => studio(c.req.raw));
      const { get } = openBrowser(async (request) => await app.fetch(request));
      for (const to of ["?page=chats", "?page=waits", "?page=sign-ins", "?page=chat&chat=chat-7"]) {
        operations.length = 0;
        const page = await get(to);
        expect(page.status).toBe(200);
        const links = page.links.filter((link) => link.includes("page=chat&"));
        expect(links).toHaveLength(/chats|waits/.test(to) ? 1_000 : 0);
        expect(operations.length).toBeLessThanOrEqual(10);
        console.log(`${kind} ${to}: ${operations.join(" ")}`);
      }
      const answered = await (
        await get("?page=chat&chat=chat-7")
      ).submit({ action: "accept", '["confirm","ok"]': "true" });
      expect(answered.words).toContain("has reached the server");
    },
    600_000,
  );
});

function counted(store: SessionStore, operations: string[]): SessionStore {
  return new Proxy(store, {
    get(target, name: keyof SessionStore) {
      const own = target[name] as (...args: unknown[]) => unknown;
      if (typeof own !== "function") return own;
      return (...args: unknown[]) => {
        operations.push(name);
        return own.apply(target, args);
      };
    },
  });
}
