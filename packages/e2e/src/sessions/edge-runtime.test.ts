import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import type { TestServer } from "../servers/server-process.ts";
import { findWorkerd, startEdgeWorker } from "../servers/workerd.ts";

const workerd = findWorkerd();
if (workerd === undefined) console.warn("skipped: edge runtime: WORKERD names no workerd binary");

describe.skipIf(workerd === undefined)("on Cloudflare's workerd", () => {
  let notebook: NotebookServer;
  let proxy: FaultyProxy;
  let worker: TestServer;

  beforeAll(async () => {
    notebook = await startNotebookServer();
    proxy = await createFaultyProxy({ target: notebook.url });
    worker = await startEdgeWorker(workerd ?? "");
  });
  afterAll(async () => {
    await worker?.stop();
    await proxy?.close();
    await notebook?.stop();
  });

  const post = async (path: string, step: object) => {
    const body = JSON.stringify({ url: proxy.url, ...step });
    const response = await fetch(new URL(path, worker.url), { method: "POST", body });
    if (!response.ok) throw new Error(`the worker failed:\n${worker.output()}`);
    return (await response.json()) as { results: unknown[]; snapshot: unknown; sealed: string };
  };
  const step = (snapshot: unknown, ...calls: { name: string; arguments: object }[]) =>
    post("/", { snapshot, calls });

  it("keeps one session over two requests, the second with one HTTP request a call (S56, S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "from the edge" } });
    proxy.requests.splice(0);
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).toContain("from the edge");
    expect(proxy.requests.splice(0)).toHaveLength(1);
  });

  it("carries a sealed state from request to request, with a provider (S56, S59)", async () => {
    const add = { name: "add_note", arguments: { text: "under seal" } };
    const first = await post("/sealed", { calls: [add] });
    expect(first.sealed).toMatch(/^[\w.~-]{100,}$/);
    proxy.requests.splice(0);
    const list = { name: "list_notes", arguments: {} };
    const second = await post("/sealed", { sealed: first.sealed, calls: [list] });
    expect(JSON.stringify(second.results)).toContain("under seal");
    expect(proxy.requests.splice(0)).toHaveLength(1);
  });

  it("recovers a session that the server forgot (S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "soon gone" } });
    await notebook.restart();
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).not.toContain("soon gone");
    expect(second.snapshot).toMatchObject({ kind: "session" });
  });
});
