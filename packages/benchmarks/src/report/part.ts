/** One measured ratio: ours divided by the contender's, the median of the rounds, with the 95 % bounds of the median. */
export interface BenchRatio {
  readonly label: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** The heading over it in the tables. @default none */
  readonly group?: string;
  /** @default none: only shown */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

/** A figure that is counted: requests, bytes, store operations, kilobytes. */
export interface BenchCount {
  readonly label: string;
  readonly value: number;
  readonly unit: string;
  /** The heading over it in the tables. @default none */
  readonly group?: string;
  /** @default none: only shown */
  readonly target?: { readonly atMost: number };
}

export interface BenchTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** What one part of `npm run bench` measured. */
export interface BenchPart {
  readonly id: string;
  readonly title: string;
  readonly ratios: readonly BenchRatio[];
  readonly counts: readonly BenchCount[];
  readonly tables: readonly BenchTable[];
  /** Sentences for the page: how it was measured, and what a loss comes from. */
  readonly notes: readonly string[];
}

/** How a part is asked to measure. */
export interface BenchOptions {
  /** @default as many as the part needs for its targets */
  readonly rounds?: number;
  /** Only what is ours, and nothing that has to be installed first. @default false */
  readonly isQuick?: boolean;
}

export type MeasurePart = (options: BenchOptions) => Promise<BenchPart>;
