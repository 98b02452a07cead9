import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { afterAll } from "vitest";

/** One value of a metric: a sum, or how often a histogram was recorded. */
export interface Measured {
  readonly value: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Sets up OpenTelemetry's metrics for this test file, as an application does at its start. */
export function collectMetrics() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  metrics.disable();
  metrics.setGlobalMeterProvider(provider);
  afterAll(async () => {
    metrics.disable();
    await provider.shutdown();
  });
  /** All metrics since the last look. */
  const take = async () => {
    await provider.forceFlush();
    const taken = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    exporter.reset();
    return taken.flatMap((scope) => scope.metrics);
  };
  return {
    take,
    /** The values of all metrics since the last look, by the metrics' names. */
    values: async (): Promise<Record<string, Measured[]>> => {
      const entries = (await take()).map(({ descriptor, dataPoints }) => {
        const values = dataPoints.map(({ value, attributes }): Measured => {
          const number = typeof value === "number" ? value : value.count;
          return { value: number, attributes };
        });
        return [descriptor.name, values] as const;
      });
      return Object.fromEntries(entries);
    },
  };
}
