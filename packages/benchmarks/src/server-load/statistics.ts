/** The value below which a share of all values is, from 0 to 1; between two values it is interpolated. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  return below + (sorted[Math.ceil(place)]! - below) * (place % 1);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** A median with the quartiles around it. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { low: quantile(values, 0.25), median: median(values), high: quantile(values, 0.75) };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
