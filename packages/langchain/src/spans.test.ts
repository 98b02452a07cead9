import { openTelemetry } from "@durable-mcp/ai-sdk/opentelemetry";
import { beforeEach, expect, test } from "vitest";
import { collectSpans } from "../../ai-sdk/test/collect-spans.ts";
import { startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
import { notebook } from "../../ai-sdk/test/saved-session.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const { find, outline, reset } = collectSpans();
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
