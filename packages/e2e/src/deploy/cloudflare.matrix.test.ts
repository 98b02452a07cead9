import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteTables } from "@durable-mcp/stores/d1";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../stores/test/bundle-worker.ts";
import { miniflare, startWorker } from "../../../stores/test/miniflare.ts";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";
import { ordered, orderInThreeRequests, type Serve } from "./order-in-three-requests.ts";

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
    expect(await orderInThreeRequests(shop, serve)).toMatchObject(ordered);
  });

  it("in a Durable Object", async () => {
    const durableObjects = { CHATS: { className: "Chat", useSQLite: true } };
    const serve = await serveIn("chat-object.ts", { durableObjects });
    expect(await orderInThreeRequests(shop, serve)).toMatchObject(ordered);
  });
});
