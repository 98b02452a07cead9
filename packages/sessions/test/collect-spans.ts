import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { afterAll } from "vitest";
import { startTracing, stopTracing } from "./start-tracing.ts";

/** Sets up OpenTelemetry for this test file, as an application does at its start, and keeps the spans. */
export function collectSpans() {
  // What is set up stays, and files share a process.
  stopTracing();
  afterAll(stopTracing);
  const exporter = startTracing();

  const spans = () => exporter.getFinishedSpans();
  return {
    /** All that have ended. */
    spans,
    /** The one of this name. */
    find: (name: string): ReadableSpan => {
      const found = spans().filter((span) => span.name === name);
      if (found.length === 1) return found[0]!;
      throw new Error(`There are ${found.length} spans ${name} in:\n${outline(spans())}`);
    },
    /** The names of all, a line each, in the order of their starts, indented below their parents. */
    outline: () => outline(spans()),
    reset: () => exporter.reset(),
  };
}

function outline(spans: readonly ReadableSpan[]): string {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, indent: string): string[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return parent === undefined ? id === undefined || !ids.has(id) : id === parent;
      })
      .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
      .flatMap((span) => [
        `${indent}${span.name}`,
        ...below(span.spanContext().spanId, `${indent}  `),
      ]);
  return below(undefined, "").join("\n");
}
