import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Client as ClientOfSdk2,
  StreamableHTTPClientTransport as TransportOfSdk2,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, describe, expect, test } from "vitest";
import { endProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

const started: { child: ChildProcess; folder: string }[] = [];

afterEach(async () => {
  for (const { child, folder } of started.splice(0)) {
    await endProgram(child, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Starts a server in a folder of its own; `restart` kills it and starts it there again. */
async function startServer(file: string) {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-conversion-"));
  const port = await findFreePort();
  const program = fileURLToPath(new URL(file, import.meta.url));
  const run = async () => {
    const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", program], {
      cwd: folder,
      env: { ...process.env, PORT: String(port), NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    started.push({ child, folder });
    await waitForPort(port);
    return child;
  };
  let child = await run();
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async restart() {
      await endProgram(child, "SIGKILL");
      child = await run();
    },
  };
}

interface Caller {
  callTool: (call: { name: string; arguments: Record<string, string> }) => Promise<unknown>;
}

/** A client with a session. */
async function connect(url: URL) {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

/** A client of revision 2026-07-28, which has no sessions. */
async function connectWithoutSession(url: URL) {
  const options = { versionNegotiation: { mode: "auto" } } as const;
  const client = new ClientOfSdk2({ name: "test", version: "1.0.0" }, options);
  await client.connect(new TransportOfSdk2(url));
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return client;
}

/** What the cart holds then, and its handle if it has one. */
async function addItem(client: Caller, item: string, cart?: string) {
  const args = { item, ...(cart !== undefined && { cart }) };
  const result = await client.callTool({ name: "add_item", arguments: args });
  const [{ text } = { text: "" }] = (result as { content: { text: string }[] }).content;
  const [, items = text, handle] = /^(.*) \(cart: (.*)\)$/.exec(text) ?? [];
  return { items, handle };
}

describe("a server of SDK v1", () => {
  test("before: a restart ends the sessions", async () => {
    const server = await startServer("convert-v1-before.ts");
    const client = await connect(server.url);
    expect(await addItem(client, "tea")).toMatchObject({ items: "tea" });
    await server.restart();
    await expect(addItem(client, "oats")).rejects.toThrow("Session not found");
    await client.close();
  });

  test("after: they go on", async () => {
    const server = await startServer("convert-v1-after.ts");
    const client = await connect(server.url);
    expect(await addItem(client, "tea")).toMatchObject({ items: "tea" });
    await server.restart();
    expect(await addItem(client, "oats")).toMatchObject({ items: "tea, oats" });
    await client.close();
  });
});

describe("a server of SDK v2", () => {
  test("before: a restart ends the sessions, and without one each call has a new cart", async () => {
    const server = await startServer("convert-v2-before.ts");
    const [session, client] = [await connect(server.url), await connectWithoutSession(server.url)];
    expect(await addItem(client, "tea")).toEqual({ items: "tea" });
    expect(await addItem(client, "oats")).toEqual({ items: "oats" });
    await server.restart();
    await expect(addItem(session, "rice")).rejects.toThrow("Session not found");
    await session.close();
    await client.close();
  });

  test("after: a client without sessions goes on with the cart that a session has filled", async () => {
    const server = await startServer("convert-v2-after.ts");
    const [session, client] = [await connect(server.url), await connectWithoutSession(server.url)];
    const { handle } = await addItem(session, "tea");
    await server.restart();
    expect(await addItem(client, "oats", handle)).toEqual({ items: "tea, oats", handle });
    expect(await addItem(session, "rice")).toEqual({ items: "tea, oats, rice", handle });
    expect((await addItem(client, "salt")).items).toBe("salt");
    await session.close();
    await client.close();
  });
});
