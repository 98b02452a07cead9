import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

/** Sets up OpenTelemetry, as an application does at its start. Returns what keeps the spans. */
export function startTracing(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({
      propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
    }),
  );
  const processor = new SimpleSpanProcessor({ exporter });
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));
  return exporter;
}

export function stopTracing(): void {
  for (const api of [context, propagation, trace]) api.disable();
}
