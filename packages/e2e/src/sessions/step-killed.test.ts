import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { type CountingProxy, startCountingProxy } from "../wire/counting-proxy.ts";
import { pairs } from "../matrix/pairs.ts";
import { runStep, startStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";

const timeout = 30_000;
const addNote = { tool: "add_note", args: { text: "kept" } };
const listNotes = { tool: "list_notes", args: {} };

const kills = pairs(["initialize", "notifications/initialized", "after the save"], clientNames);

let server: NotebookServer;
let proxy: CountingProxy;
let folder: string;
beforeAll(async () => {
  server = await startNotebookServer();
  proxy = await startCountingProxy(server.url);
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-killed-"));
}, timeout);
afterAll(async () => {
  await proxy?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(clientNames)("a step of %s killed with kill -9", (client) => {
  const points = kills.filter(([, name]) => name === client).map(([point]) => point);

  // The server has a session in both cases; the client must not have saved it before the 202.
  test.each(points.filter((point) => point !== "after the save"))(
    "before the answer to %s leaves no state, and the next step starts fresh (S5, S7)",
    { timeout },
    async (method) => {
      const savePath = join(
        folder,
        `${clientNames.indexOf(client)}-${method.replace("/", "-")}.json`,
      );
      const held = proxy.holdAnswer((request) => request.rpcMethod === method);
      const killed = startStep({ client, url: proxy.url, savePath, calls: [addNote] });
      await held.reached;
      await killed.kill();
      held.release();
      await expect(killed.finished).rejects.toThrow("SIGKILL");
      expect(existsSync(savePath)).toBe(false);

      proxy.takeRequests();
      const next = await runStep({
        client,
        url: proxy.url,
        savePath,
        list: true,
        calls: [listNotes],
      });
      expect(next.error).toBeUndefined();
      expect(next.results[0]?.text).toBe("");
      expect(proxy.takeRequests()[0]).toMatchObject({
        rpcMethod: "initialize",
        withSessionId: false,
        status: 200,
      });
      expect(existsSync(savePath)).toBe(true);
    },
  );

  if (!points.includes("after the save")) return;
  test("after the save is resumed by the next step (S5, S56)", { timeout }, async () => {
    const savePath = join(folder, `${clientNames.indexOf(client)}-after.json`);
    const held = proxy.holdAnswer((request) => request.tool === "add_note");
    const killed = startStep({ client, url: proxy.url, savePath, calls: [addNote] });
    await held.reached;
    await killed.kill();
    held.release();
    await expect(killed.finished).rejects.toThrow("SIGKILL");

    const snapshot: unknown = JSON.parse(readFileSync(savePath, "utf8"));
    proxy.takeRequests();
    const next = await runStep({
      client,
      url: proxy.url,
      snapshot,
      list: true,
      calls: [listNotes],
    });
    expect(next.error).toBeUndefined();
    expect(next.results[0]?.text).toBe("kept");
    expect(sessionIdOf(next.snapshot) === sessionIdOf(snapshot)).toBe(true);
    const methods = proxy.takeRequests().map((request) => request.rpcMethod);
    expect(methods.filter((method) => method !== "tools/list")).toEqual(["tools/call"]);
  });
});
