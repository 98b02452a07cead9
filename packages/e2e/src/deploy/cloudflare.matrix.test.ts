import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { sqliteTables } from "@durable-mcp/stores/d1";
import type { ModelMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../stores/test/bundle-worker.ts";
import { miniflare, startWorker } from "../../../stores/test/miniflare.ts";
import openLibsql from "../../../stores/test/open-libsql.ts";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";
import { type ChatRequest, connectionsTo, serveChat } from "./order-chat.ts";

if (miniflare === undefined) console.warn("skipped: Cloudflare: MINIFLARE names no module");

let shop: AskingServer;
let folder: string;
beforeAll(async () => {
  shop = await startAskingServer();
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-cloudflare-"));
});
afterAll(async () => {
  await shop?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Has a request served by a process of its own, which finds what the others have left. */
type Serve = (request: ChatRequest) => Promise<unknown>;

/** What the shop is to have in the end: one order. */
const ordered = [{ item: "tea", time: "12:00" }];

/** A step whose tool asks a person, the answers, and the step that has the result. Gives the orders of the shop. */
async function orderInThreeRequests(serve: Serve): Promise<unknown> {
  const orders = shop.orders().length;
  const chatId = "chat";
  const messages: ModelMessage[] = [{ role: "user", content: "Order tea." }];
  const asked = (await serve({ chatId, messages })) as ModelMessage[];
  expect(asked.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(await serve({ chatId })).toEqual(["settled"]);
  const done = (await serve({ chatId, messages: asked })) as ModelMessage[];
  expect(JSON.stringify(done.at(-2))).toContain("tea comes at 12:00.");
  expect(JSON.stringify(done.at(-1))).toContain("It is ordered.");
  return shop.orders().slice(orders);
}

/** Starts the runtime for each request, and ends it. */
async function serveIn(entry: string, options: object): Promise<Serve> {
  const script = await bundleWorker(new URL(entry, import.meta.url));
  return async (request) => {
    const worker = await startWorker(script, {
      bindings: { SHOP_URL: shop.url },
      d1Persist: folder,
      durableObjectsPersist: folder,
      ...options,
    });
    try {
      // As a migration does it.
      if ("d1Databases" in options) await worker.runInD1("DB", sqliteTables().split(/(?<=;\n)/));
      return await worker.post(`/${request.chatId}`, request);
    } finally {
      await worker.stop();
    }
  };
}

describe.skipIf(miniflare === undefined)("a question is answered in another runtime", () => {
  it("on D1", async () => {
    const serve = await serveIn("d1-worker.ts", { d1Databases: ["DB"] });
    expect(await orderInThreeRequests(serve)).toMatchObject(ordered);
  });

  it("in a Durable Object", async () => {
    const durableObjects = { CHATS: { className: "Chat", useSQLite: true } };
    const serve = await serveIn("chat-object.ts", { durableObjects });
    expect(await orderInThreeRequests(serve)).toMatchObject(ordered);
  });
});

it("on libSQL, a question is answered by another client", async () => {
  const orders = await orderInThreeRequests(async (request) => {
    const { store, close } = await openLibsql(join(folder, "sessions.db"));
    const sessions = createDurableSessions({ connections: connectionsTo(shop.url), store });
    const served = await serveChat(sessions, request);
    await close!();
    return served;
  });
  expect(orders).toMatchObject(ordered);
});
