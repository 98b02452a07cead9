/**
 * An application that sends its spans to a collector: an agent with one connection, whose session the
 * server forgets on the way.
 *
 *     node traced-program.ts <url of the collector> <url of a notebook> <url that has it forget>
 */
import { OpenTelemetry } from "@ai-sdk/otel";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { ToolLoopAgent } from "ai";
import { createConnectionProvider, defineMcpClientConnection } from "../src/index.ts";
import { openTelemetry } from "../../sessions/src/opentelemetry/index.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";

const [collector = "", url = "", forget = ""] = process.argv.slice(2);

const exporter = new OTLPTraceExporter({ url: `${collector}/v1/traces` });
const tracerProvider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter })],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(tracerProvider);

const provider = createConnectionProvider({
  connections: {
    notes: defineMcpClientConnection({
      url,
      description: "A notebook.",
      session: "stateful",
      auth: { getToken: () => ({ token: "canary-token" }) },
      headers: { "x-api-key": "canary-api-key" },
    }),
  },
  telemetry: openTelemetry({ propagate: true }),
});
const registry = provider.create({
  principal: { type: "user", issuer: "https://canary-issuer", id: "canary-user" },
});
const agent = new ToolLoopAgent({
  model: scriptedModel([{ tool: "notes__list_notes" }], "Done."),
  tools: await registry.tools(),
  telemetry: { integrations: new OpenTelemetry() },
});
await fetch(forget);
await agent.generate({ prompt: "Read my notes." });
await registry.call("notes", "add_note", { text: "canary-argument" });
await registry.call("notes", "list_notes");
await registry.dispose();
await tracerProvider.shutdown();
