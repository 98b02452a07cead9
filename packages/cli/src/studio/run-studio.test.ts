import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { openBrowser } from "../../../ai-sdk/test/studio/studio-browser.ts";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const principal = { type: "user", issuer: "https://shop.example", id: "ada-lovelace" } as const;

/** A store in which a call waits, and the command on it. */
async function start() {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-studio-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const shop = await startAskingServer();
  const options = { url: shop.url, description: "A shop.", waiting: true } as const;
  const path = join(folder, "sessions.db");
  const connections = { shop: defineMcpClientConnection(options) };
  const store = createSqliteStore({ path });
  const sessions = createDurableSessions({ connections, store, onEvent: () => undefined });
  await sessions.run("chat-of-ada", { principal }, async (run) => {
    await run.call("shop", "order", { item: "tea" });
  });
  await sessions.shutdown();
  const module = join(folder, "connections.mjs");
  const definition = { type: "mcp-client", options };
  writeFileSync(module, `export const shop = ${JSON.stringify(definition)};`);
  const run = async (...args: string[]) => {
    const all = [main, "studio", "--store", `file:${path}`, ...args];
    const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", ...all]);
    onTestFinished(() => void child.kill());
    child.stderr.pipe(process.stderr);
    const [text] = (await once(child.stdout, "data")) as [Buffer];
    return { link: text.toString().trim(), child };
  };
  return { run, module, shop };
}

/** A browser that has been let in. */
async function enter(link: string) {
  const opened = await fetch(link, { redirect: "manual" });
  const [cookie = "", path] = opened.headers.get("set-cookie")?.split("; ") ?? [];
  const place = opened.headers.get("location")!;
  const { origin } = new URL(link);
  const browser = openBrowser(async (request) => {
    const { search } = new URL(request.url);
    const body = request.method === "POST" ? await request.text() : undefined;
    const headers = new Headers({ ...Object.fromEntries(request.headers), cookie });
    const init = { method: request.method, headers, redirect: "manual" as const };
    return await fetch(`${origin}${place}${search}`, body === undefined ? init : { ...init, body });
  }, origin);
  return { ...browser, cookie, path, url: `${origin}${place}` };
}

test("a link opens one browser, which looks, and sees no id", async () => {
  const { run } = await start();
  const { link, child } = await run();
  const { get, cookie, path, url } = await enter(link);
  expect(path).toBe(`Path=${new URL(url).pathname}`);
  expect((await fetch(link, { redirect: "manual" })).status).toBe(403);
  expect((await fetch(url)).status).toBe(403);
  const other = { cookie: cookie.replace(/.$/, "!") };
  expect((await fetch(url, { headers: other })).status).toBe(403);
  const list = await get("?page=waits");
  const page = await get(list.links.find((each) => each.includes("page=chat&"))!);
  expect(page.words).toContain("Order it?");
  expect(page.buttons).toEqual([]);
  for (const { text } of [await get(""), list, page]) {
    expect(text).not.toContain("ada-lovelace");
    expect(text).not.toContain("chat-of-ada");
  }
  child.kill("SIGTERM");
  expect(await once(child, "close")).toEqual([0, null]);
});

test("asked to act, it takes calls back; with a module of connections it answers", async () => {
  const { run, module, shop } = await start();
  const chat = "?page=chat&chat=chat-of-ada";
  const without = await enter((await run("--act", "--names")).link);
  const page = await without.get(chat);
  expect(page.words).toContain("ada-lovelace");
  expect(page.buttons).toEqual(["withdraw"]);
  const { get } = await enter((await run("--act", "--connections", module)).link);
  const form = await get(chat);
  expect(form.buttons).toEqual(["accept", "decline", "withdraw"]);
  const answered = await form.submit({ action: "accept", '["confirm","ok"]': "true" });
  expect(answered.words).toContain("has reached the server");
  expect(shop.legs).toHaveLength(2);
});
