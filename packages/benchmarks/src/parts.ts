import type { MeasurePart } from "./report/part.ts";

interface KnownPart {
  readonly id: string;
  /** It counts, and CI looks at that: fast, and the same on every machine. */
  readonly isCounted: boolean;
  readonly load: () => Promise<MeasurePart>;
}

/** What `npm run bench` measures, in this order. */
export const parts: readonly KnownPart[] = [
  {
    id: "requests",
    isCounted: true,
    load: async () => (await import("./requests/measure-requests.ts")).measureRequests,
  },
  {
    id: "cold",
    isCounted: false,
    load: async () => (await import("./cold/measure-cold-steps.ts")).measureColdSteps,
  },
  {
    id: "stores",
    isCounted: true,
    load: async () => (await import("./stores/measure-stores.ts")).measureStores,
  },
  {
    id: "step",
    isCounted: true,
    load: async () => (await import("./step/measure-step.ts")).measureStep,
  },
  {
    id: "calls",
    isCounted: false,
    load: async () => (await import("./calls/measure-calls.ts")).measureCalls,
  },
  {
    id: "gateway",
    isCounted: false,
    load: async () => (await import("./gateway/measure-gateway.ts")).measureGateway,
  },
  {
    id: "gateway-programs",
    isCounted: false,
    load: async () => (await import("./gateway/measure-programs.ts")).measurePrograms,
  },
  {
    id: "size",
    // Of which CI has a check of its own.
    isCounted: false,
    load: async () => (await import("./size/measure-size.ts")).measureSize,
  },
];
