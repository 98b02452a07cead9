const units = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** A length of time in its largest whole unit, such as "3 h". */
export function printDuration(ms: number): string {
  const [length, unit] = units.find(([each]) => Math.abs(ms) >= each) ?? [1_000, "s"];
  return `${Math.floor(ms / length)} ${unit}`;
}

/** A number of bytes, such as "1.2 kB". */
export function printBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function printTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A number and its noun, such as "1 session" and "2 sessions". */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const lengths: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a length of time such as 30m, 12h or 7d, in milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * lengths[unit]!;
}
