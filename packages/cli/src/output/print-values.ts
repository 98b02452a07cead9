const units = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** A duration for people: `80 ms`, `2.7 s`, `4 min`, `3 h 20 min`, `2 d 5 h`. */
export function printDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const first = units.findIndex(([size]) => seconds >= size);
  const [size, unit] = units[first]!;
  const whole = Math.floor(seconds / size);
  // The next unit, if it counts.
  const [nextSize, nextUnit] = units[first + 1] ?? [1, ""];
  const rest = Math.floor((seconds % size) / nextSize);
  return rest > 0 && whole < 10 ? `${whole} ${unit} ${rest} ${nextUnit}` : `${whole} ${unit}`;
}

/** How long ago something was, in the largest unit alone. */
export function printAge(ms: number): string {
  return printDuration(Math.max(0, ms)).split(" ", 2).join(" ");
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
