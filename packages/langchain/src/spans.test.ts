import { openTelemetry } from "@durable-mcp/ai-sdk/opentelemetry";
import { beforeEach, expect, test } from "vitest";
import { collectSpans } from "../../sessions/test/collect-spans.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { notebook } from "../../ai-sdk/test/saved-session.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { accept, order, startAgent } from "../test/shop.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const { find, outline, reset, spans } = collectSpans();
beforeEach(reset);

test("connecting, listing and calls have spans, and requests carry the trace context", async () => {
  const server = await startNotebookServer();
  const application = startApplication(
    { notes: notebook(server) },
    { telemetry: openTelemetry({ propagate: true }) },
  );
  await application.step({}, async (registry) => {
    const tools = await loadSessionTools(registry);
    const [add, , fail] = tools;
    await add!.invoke({ text: "a" });
    await fail!.invoke({}).catch(() => undefined);
  });
  expect(outline().split("\n")).toEqual([
    ...["tools/list", "  initialize"],
    ...["tools/call add_note", "tools/call fail"],
  ]);
  expect(find("initialize").attributes).toMatchObject({ "mcp.protocol.version": "2025-11-25" });
  expect(find("tools/call fail").attributes).toMatchObject({ "error.type": "tool_error" });
  const { traceId, spanId } = find("tools/call add_note").spanContext();
  const sent = server.requests.filter(({ message }) => message?.method === "tools/call");
  expect(sent[0]?.message.params["_meta"]).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
});

test("a call that waits, and one that goes on, are no errors", async () => {
  const telemetry = openTelemetry();
  const { start, resume } = await startAgent([[order("tea")]], {}, { telemetry });
  await start();
  await resume(accept(true));
  const calls = spans().filter(({ name }) => name === "tools/call order");
  expect(calls).toHaveLength(2);
  for (const { attributes, status, events } of calls) {
    expect(attributes).not.toHaveProperty("error.type");
    expect({ code: status.code, events }).toEqual({ code: 0, events: [] });
  }
});
