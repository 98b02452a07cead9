import type { AgentSession, Step, Wait } from "./agent-session.ts";
import { type Deed, deedsOf } from "./words.ts";

/** How wide a picture is, and what is in it. In pixels. */
export interface Measures {
  readonly width: number;
  /** The space between two steps. */
  readonly gap: number;
  /** A step has this width at least. What a row has left goes to the steps that took long. */
  readonly leastStep: number;
  readonly mostStep: number;
}

export const wide: Measures = { width: 1_000, gap: 52, leastStep: 124, mostStep: 230 };
export const narrow: Measures = { width: 342, gap: 36, leastStep: 120, mostStep: 150 };

/** A step, with its place. */
export interface Column {
  readonly step: Step;
  readonly x: number;
  readonly width: number;
  /** Where the space before it begins. */
  readonly gapX: number;
  /** The time without a step before it; `undefined` for the first one, negative if steps overlap. */
  readonly gapMs: number | undefined;
  readonly lines: readonly Pick<Deed, "text" | "said" | "took" | "kind" | "at" | "until">[];
}

/** Steps in one line of the picture. */
export interface Row {
  readonly columns: readonly Column[];
  /** From when to when it tells, with the space before it. */
  readonly from: number;
  readonly until: number;
  /** The calls that waited in it. */
  readonly waits: readonly Wait[];
  readonly y: number;
  readonly boxHeight: number;
  readonly lanesY: number;
  readonly waitsY: number;
  /** Where the last column ends. */
  readonly endX: number;
}

export const lineHeight = 21;
export const laneHeight = 38;
export const waitHeight = 30;
const headHeight = 48;
const footHeight = 30;
const firstGap = 14;

/** Places steps one after another, in as many rows as they need. */
export function layOut(session: AgentSession, measures: Measures) {
  const lanes = [...new Set(session.spans.map(({ lane }) => lane))];
  const rows: Row[] = [];
  let y = 4;
  for (const columns of breakIntoRows(session.steps, measures)) {
    const [first, last] = [columns[0]!, columns.at(-1)!];
    const from = first.step.from - Math.max(0, first.gapMs ?? 0);
    const until = Math.max(...columns.map(({ step }) => step.until));
    const waits = session.waits.filter(
      (wait) => wait.from <= until && (wait.until ?? Infinity) >= from,
    );
    const lines = Math.max(...columns.map((column) => column.lines.length));
    const boxHeight = headHeight + lines * lineHeight + footHeight;
    const lanesY = y + boxHeight + 14;
    const waitsY = lanesY + lanes.length * laneHeight;
    const endX = last.x + last.width;
    rows.push({ columns, from, until, waits, y, boxHeight, lanesY, waitsY, endX });
    y = waitsY + waits.length * waitHeight + 22;
  }
  return { rows, lanes, width: measures.width, height: y - 10 };
}

/** Where a row goes on, and where sessions outlive the last step. */
const restWidth = 18;

function breakIntoRows(steps: readonly Step[], measures: Measures): Column[][] {
  const { gap, leastStep, width } = measures;
  const perRow = Math.floor((width - restWidth) / (gap + leastStep));
  const rows: Column[][] = [];
  let end: number | undefined;
  for (let first = 0; first < steps.length; first += perRow) {
    let x = 0;
    const own = steps.slice(first, first + perRow);
    const widths = widthsOf(own, measures);
    rows.push(
      own.map((step, index) => {
        const gapX = x;
        const gapMs = end === undefined ? undefined : step.from - end;
        const at = gapX + (end === undefined ? firstGap : gap);
        x = at + widths[index]!;
        end = Math.max(end ?? 0, step.until);
        return { step, gapX, x: at, width: widths[index]!, gapMs, lines: linesOf(step) };
      }),
    );
  }
  return rows;
}

const mostLines = 6;

/** What a step did, in a few lines at most. */
function linesOf(step: Step): Column["lines"] {
  const lines: Column["lines"][number][] = deedsOf(step).filter(({ isShown }) => isShown);
  const at = step.until;
  if (step.isFailed) lines.push({ at, text: "the step failed", kind: "bad" });
  if (lines.length <= mostLines) return lines;
  const more = lines.splice(mostLines - 1).length;
  return [...lines, { at, text: `and ${more} more`, kind: "quiet" }];
}

function widthsOf(steps: readonly Step[], { width, gap, leastStep, mostStep }: Measures): number[] {
  const left = width - restWidth - steps.length * (gap + leastStep);
  const durations = steps.map(({ from, until }) => until - from);
  const all = Math.max(
    1,
    durations.reduce((sum, each) => sum + each, 0),
  );
  return durations.map((ms) =>
    Math.floor(Math.min(mostStep, leastStep + Math.max(0, left) * (ms / all))),
  );
}

/** The place of a time in a step's box. */
export function placeIn({ step, x, width }: Column, time: number): number {
  const share = (time - step.from) / Math.max(1, step.until - step.from);
  return x + 10 + Math.min(1, Math.max(0, share)) * (width - 20);
}

/** About how wide a text of the picture is, in pixels. The font is the reader's own, so nobody knows before. */
export function widthOfText(text: string): number {
  let width = 0;
  for (const letter of text) {
    if (/[ijlt.,:;'|! ()]/.test(letter)) width += 3.9;
    else if (/[mwMW@]/.test(letter)) width += 9.6;
    else if (letter > "\u1100") width += 12;
    else width += /[A-Z]/.test(letter) ? 7.8 : 6.6;
  }
  return width;
}

/** The text, cut where there is no more room for it. */
export function fit(text: string, width: number): string {
  if (widthOfText(text) <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && widthOfText(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
