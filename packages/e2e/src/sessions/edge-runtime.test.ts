import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCountingProxy, type CountingProxy } from "../wire/counting-proxy.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import type { TestServer } from "../servers/server-process.ts";
import { findWorkerd, startEdgeWorker } from "../servers/workerd.ts";

const workerd = findWorkerd();
if (workerd === undefined) console.warn("skipped: edge runtime: WORKERD names no workerd binary");

describe.skipIf(workerd === undefined)("on Cloudflare's workerd", () => {
  let notebook: NotebookServer;
  let proxy: CountingProxy;
  let worker: TestServer;

  beforeAll(async () => {
    notebook = await startNotebookServer();
    proxy = await startCountingProxy(notebook.url);
    worker = await startEdgeWorker(workerd ?? "");
  });
  afterAll(async () => {
    await worker?.stop();
    await proxy?.close();
    await notebook?.stop();
  });

  const step = async (snapshot: unknown, ...calls: { name: string; arguments: object }[]) => {
    const body = JSON.stringify({ url: proxy.url, snapshot, calls });
    const response = await fetch(worker.url, { method: "POST", body });
    if (!response.ok) throw new Error(`the worker failed:\n${worker.output()}`);
    return (await response.json()) as { results: unknown[]; snapshot: unknown };
  };

  it("keeps one session over two requests, the second with one HTTP request a call (S56, S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "from the edge" } });
    proxy.takeRequests();
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).toContain("from the edge");
    expect(proxy.takeRequests()).toHaveLength(1);
  });

  it("recovers a session that the server forgot (S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "soon gone" } });
    await notebook.restart();
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).not.toContain("soon gone");
    expect(second.snapshot).toMatchObject({ kind: "session" });
  });
});
