import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startNotebookServer } from "../servers/notebook.ts";
import type { TestServer } from "../servers/server-process.ts";
import { useServer } from "../servers/use-server.ts";
import { findWorkerd, startEdgeWorker } from "../servers/workerd.ts";

const workerd = findWorkerd();
if (workerd === undefined) console.warn("skipped: edge runtime: WORKERD names no workerd binary");

describe.skipIf(workerd === undefined)("on Cloudflare's workerd", () => {
  const notebook = useServer(startNotebookServer);
  let worker: TestServer;
  beforeAll(async () => {
    worker = await startEdgeWorker(workerd ?? "");
  });
  afterAll(() => worker?.stop());

  const post = async (path: string, step: object) => {
    const body = JSON.stringify({ url: notebook.proxy.url, ...step });
    const response = await fetch(new URL(path, worker.url), { method: "POST", body });
    if (!response.ok) throw new Error(`the worker failed:\n${worker.output()}`);
    return (await response.json()) as { results: unknown[]; snapshot: unknown; sealed: string };
  };
  const step = (snapshot: unknown, ...calls: { name: string; arguments: object }[]) =>
    post("/", { snapshot, calls });

  it("keeps one session over two requests, the second with one HTTP request a call (S56, S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "from the edge" } });
    notebook.proxy.requests.splice(0);
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).toContain("from the edge");
    expect(notebook.proxy.requests.splice(0)).toHaveLength(1);
  });

  it("carries a sealed state from request to request, with a provider (S56, S59)", async () => {
    const add = { name: "add_note", arguments: { text: "under seal" } };
    const first = await post("/sealed", { calls: [add] });
    expect(first.sealed).toMatch(/^[\w.~-]{100,}$/);
    notebook.proxy.requests.splice(0);
    const list = { name: "list_notes", arguments: {} };
    const second = await post("/sealed", { sealed: first.sealed, calls: [list] });
    expect(JSON.stringify(second.results)).toContain("under seal");
    expect(notebook.proxy.requests.splice(0)).toHaveLength(1);
  });

  it("recovers a session that the server forgot (S59)", async () => {
    const first = await step(undefined, { name: "add_note", arguments: { text: "soon gone" } });
    await notebook.server.restart();
    const second = await step(first.snapshot, { name: "list_notes", arguments: {} });
    expect(JSON.stringify(second.results)).not.toContain("soon gone");
    expect(second.snapshot).toMatchObject({ kind: "session" });
  });
});
