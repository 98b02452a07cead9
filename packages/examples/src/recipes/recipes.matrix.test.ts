import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteTables } from "@durable-mcp/stores/d1";
import { createFaultyServer, type FaultyServer } from "@durable-mcp/testing";
import { Queue, QueueEvents } from "bullmq";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bundleWorker } from "../../../stores/test/bundle-worker.ts";
import { miniflare, startWorker as startRuntime } from "../../../stores/test/miniflare.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

const bun = process.env["BUN"] || undefined;
let shop: FaultyServer;
let folder: string;

beforeEach(async () => {
  const cart: string[] = [];
  const tools = {
    add_item: ({ item }: { item: string }) => `The cart: ${cart.push(item) && cart.join(", ")}.`,
  };
  shop = await createFaultyServer({ tools });
  folder = mkdtempSync(join(tmpdir(), "recipes-"));
  vi.stubEnv("SHOP_URL", shop.url);
  vi.stubEnv("SESSIONS_DB", join(folder, "sessions.db"));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.resetModules(); // each recipe reads its settings when it is loaded
  await shop.close();
  rmSync(folder, { recursive: true, force: true });
});

/** All steps made one session. */
function expectOneSession(): void {
  expect(shop.requests.filter(({ message }) => message.method === "initialize")).toHaveLength(1);
}

test("generateText, and a plain function", async () => {
  const { model } = await import("./model.ts");
  const first = await import("./generate-text.ts");
  expect(await first.ask(model, "chat 1", "ada", "Tea, please.")).toContain("The cart: tea.");
  vi.resetModules();
  const next = await import("./generate-text.ts");
  const { content } = await next.addToCart("chat 1", "ada", "milk");
  expect(content).toMatchObject([{ text: "The cart: tea, milk." }]);
  expectOneSession();
});

test("a queue", async (context) => {
  context.skip(redisUnavailable !== undefined, redisUnavailable);
  const redis = await startRedis();
  const url = `redis://127.0.0.1:${redis.port}`;
  const connection = { url, maxRetriesPerRequest: null };
  const queue = new Queue("turns", { connection });
  const events = new QueueEvents("turns", { connection });
  try {
    for (const cart of ["tea", "tea, tea"]) {
      vi.resetModules();
      const { model } = await import("./model.ts");
      const { startWorker } = await import("./queue.ts");
      const worker = startWorker(model, url);
      const turn = { chat: "chat 1", user: "ada", prompt: "Tea, please." };
      const job = await queue.add("turn", turn);
      expect(await job.waitUntilFinished(events)).toContain(`The cart: ${cart}.`);
      await worker.close();
    }
    expectOneSession();
  } finally {
    await events.close();
    await queue.close();
    await redis.remove();
  }
});

test("Hono on Workers, bundled", async (context) => {
  context.skip(miniflare === undefined, "MINIFLARE names no module");
  const script = await bundleWorker(new URL("hono-worker.ts", import.meta.url));
  for (const cart of ["tea", "tea, tea"]) {
    const runtime = await startRuntime(script, {
      bindings: { SHOP_URL: shop.url },
      d1Databases: ["DB"],
      d1Persist: folder,
    });
    await runtime.runInD1("DB", sqliteTables().split(/(?<=;\n)/));
    const answer = await runtime.post("/chats/1", { prompt: "Tea, please." });
    expect(answer).toEqual({ text: expect.stringContaining(`The cart: ${cart}.`) });
    await runtime.stop();
  }
  expectOneSession();
});

test("Hono on Bun, bundled", async (context) => {
  context.skip(bun === undefined, "BUN names no program");
  const bundle = join(folder, "app.js");
  const entry = fileURLToPath(new URL("hono-bun.ts", import.meta.url));
  const options = ["--conditions=@durable-mcp/source", "--target=bun", `--outfile=${bundle}`];
  const built = spawnSync(bun!, ["build", ...options, entry], { encoding: "utf8" });
  expect(built).toMatchObject({ status: 0 });
  for (const cart of ["tea", "tea, tea"]) {
    const port = await findFreePort();
    const env = { ...process.env, PORT: String(port) };
    const child = spawn(bun!, [bundle], { env, stdio: ["ignore", "ignore", "inherit"] });
    const isGone = new Promise((resolve) => child.once("exit", resolve));
    try {
      await waitForPort(port);
      const answer = await fetch(`http://127.0.0.1:${port}/chats/1`, {
        method: "POST",
        body: JSON.stringify({ prompt: "Tea, please." }),
      });
      expect(await answer.json()).toEqual({ text: expect.stringContaining(`The cart: ${cart}.`) });
    } finally {
      child.kill("SIGKILL");
      await isGone;
    }
  }
  expectOneSession();
});
