import { context, createTraceState, propagation, trace, TraceFlags } from "@opentelemetry/api";
import { beforeEach, describe, expect, test } from "vitest";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callForText, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { find, reset } = collectSpans();
beforeEach(reset);

const notes = ({ url }: { url: string }, session: "stateful" | "stateless" = "stateful") => ({
  notes: defineMcpClientConnection({ url, description: "A notebook.", session }),
});

const metaOf = (server: Awaited<ReturnType<typeof startNotebookServer>>, method: string) =>
  server.requests
    .filter(({ message }) => message?.method === method)
    .map(({ message }) => message.params?.["_meta"]);

/** The `traceparent` of a span. */
const idsOf = (name: string) => {
  const { traceId, spanId } = find(name).spanContext();
  return `00-${traceId}-${spanId}-01`;
};

describe("the trace context of a request", () => {
  test.each(["stateful", "stateless"] as const)(
    "is that of its span, over a %s connection",
    async (session) => {
      const server = await startNotebookServer({ isSessionless: session === "stateless" });
      const application = startApplication(notes(server, session), {
        telemetry: openTelemetry({ propagate: true }),
      });
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        await callTool(tools, "notes__add_note", { text: "a" });
      });
      expect(metaOf(server, "tools/list")).toEqual([{ traceparent: idsOf("tools/list") }]);
      expect(metaOf(server, "tools/call")).toEqual([{ traceparent: idsOf("tools/call add_note") }]);
      // The first is no request.
      expect(metaOf(server, "notifications/initialized")).toEqual([undefined]);
    },
  );

  test("stays the same when the request is sent again after a loss", async () => {
    const server = await startNotebookServer();
    const application = startApplication(notes(server), {
      telemetry: openTelemetry({ propagate: true }),
    });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      expect(await callForText(tools, "notes__list_notes")).toContain("");
    });
    const sent = { traceparent: idsOf("tools/call list_notes") };
    expect(metaOf(server, "tools/call")).toEqual([sent, sent]);
  });

  test("is beside what the client itself says there", async () => {
    const server = await startModernServer();
    const application = startApplication(notes(server), {
      telemetry: openTelemetry({ propagate: true }),
    });
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__greet");
    });
    const [call] = server.requests.filter(({ message }) => message?.method === "tools/call");
    expect(call?.message.params["_meta"]).toMatchObject({
      traceparent: idsOf("tools/call greet"),
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    });
  });

  test("has the tracestate, and no baggage", async () => {
    const server = await startNotebookServer();
    const application = startApplication(notes(server), {
      telemetry: openTelemetry({ propagate: true }),
    });
    const remote = trace.setSpanContext(context.active(), {
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
      traceFlags: TraceFlags.SAMPLED,
      traceState: createTraceState("vendor=1"),
    });
    const bag = propagation.createBaggage({ user: { value: "alice" } });
    await context.with(propagation.setBaggage(remote, bag), () =>
      application.step({}, (registry) => registry.tools()),
    );
    expect(metaOf(server, "tools/list")).toEqual([
      {
        traceparent: expect.stringMatching(/^00-4bf92f3577b34da6a3ce929d0e0e4736-/),
        tracestate: "vendor=1",
      },
    ]);
  });

  test("does not keep a kept tool list from answering", async () => {
    const server = await startNotebookServer();
    const application = startApplication(notes(server), {
      telemetry: openTelemetry({ propagate: true }),
    });
    const session = await application.step({}, (registry) => registry.tools());
    server.requests.length = 0;
    await application.step(session, async (registry) => {
      await callTool(await registry.tools(), "notes__list_notes");
    });
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("is not sent unless asked for", async () => {
    const server = await startNotebookServer();
    const application = startApplication(notes(server), { telemetry: openTelemetry() });
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__list_notes");
    });
    expect(metaOf(server, "tools/call")).toEqual([undefined]);
    expect(JSON.stringify(server.requests.map(({ headers }) => headers))).not.toContain(
      "traceparent",
    );
  });
});
