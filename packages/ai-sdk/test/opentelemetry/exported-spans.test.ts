import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { sendJson, startHttpServer } from "../../../core/test/http-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";

const program = fileURLToPath(new URL("../traced-program.ts", import.meta.url));

interface ExportedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
}

test("an application's spans reach a collector, in their places and without a secret", async () => {
  const notebook = await startNotebookServer();
  const collector = await startHttpServer((_, response) => sendJson(response, 200, {}));
  const control = await startHttpServer((_, response) => {
    notebook.forgetSessions();
    response.end();
  });
  await promisify(execFile)(process.execPath, [
    "--conditions=@durable-mcp/source",
    "--disable-warning=ExperimentalWarning",
    "--unhandled-rejections=strict",
    program,
    collector.origin,
    notebook.url,
    control.origin,
  ]);

  const sent = collector.requests.map(({ message }) => message);
  const spans = sent
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope): ExportedSpan[] => scope.spans);
  const ancestors = (span: ExportedSpan | undefined): string[] => {
    const parent = spans.find(({ spanId }) => spanId === span?.parentSpanId);
    return parent ? [parent.name, ...ancestors(parent)] : [];
  };
  const recovery = spans.find(({ name }) => name === "recover");
  expect(ancestors(recovery).slice(0, 2)).toEqual([
    "tools/call list_notes",
    "execute_tool notes__list_notes",
  ]);
  expect(spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["tools/list", "initialize", "tools/call add_note"]),
  );

  // What the server was told of the agent's call names the call's span.
  const agentsCall = spans.find(({ spanId }) => spanId === recovery?.parentSpanId);
  const [call] = notebook.requests.filter(({ message }) => message?.method === "tools/call");
  expect(call?.message.params["_meta"]).toEqual({
    traceparent: `00-${agentsCall?.traceId}-${agentsCall?.spanId}-01`,
  });

  expect(notebook.sessionIds).toHaveLength(2);
  const ours = sent
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .filter(({ scope }) => scope.name === "@durable-mcp/ai-sdk");
  expect(ours).not.toEqual([]);
  expect(JSON.stringify(ours)).not.toMatch(/canary/);
  for (const id of notebook.sessionIds) expect(JSON.stringify(sent)).not.toContain(id);
}, 30_000);
