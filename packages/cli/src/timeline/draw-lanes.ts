import { printDuration } from "../output/print-values.ts";
import type { AgentSession, Wait } from "./agent-session.ts";
import {
  type Column,
  fit,
  laneHeight,
  placeIn,
  round,
  type Row,
  waitHeight,
  widthOfText,
} from "./layout.ts";
import { type Markup, markup } from "./markup.ts";
import { laneOf, type SessionSpan } from "./session-spans.ts";

/** Where a time is in a row: in a step's box, or where the last box before it ends. */
function placeInRow({ columns }: Row, time: number): number {
  let x = columns[0]!.gapX;
  for (const column of columns) {
    if (time < column.step.from) break;
    if (time <= column.step.until) return placeIn(column, time);
    x = column.x + column.width;
  }
  return x;
}

/** The lanes of a row: each MCP session from its start to its end. */
export function drawLanes(
  { spans, steps }: AgentSession,
  lanes: readonly string[],
  row: Row,
): Markup[] {
  const lastStep = steps.at(-1)!;
  return lanes.flatMap((lane, index) => {
    const y = row.lanesY + index * laneHeight + 24;
    const own = spans.filter(
      (span) => span.lane === lane && span.until >= row.from && span.from <= row.until,
    );
    const several = lanes.length > 1 || lane.includes(" · ");
    return [
      ...drawStems(row, lane, y),
      ...own.map((span) => drawSpan(row, span, y, lastStep.until)),
      ...drawLabels(row, own, y, several),
    ];
  });
}

const colourOf = ({ number }: SessionSpan) => ((number - 1) % 4) + 1;

function drawSpan(row: Row, span: SessionSpan, y: number, end: number): Markup {
  const { from, until } = row;
  const isOver = span.until <= until && (span.end !== "kept" || until >= end);
  const x1 = span.from < from ? 0 : placeInRow(row, span.from);
  const x2 = isOver ? placeInRow(row, span.until) : row.endX + 16;
  const isLost = span.end === "lost" && span.until <= until;
  const knownTo = isLost ? Math.max(x1, placeInRow(row, span.lastSeen ?? from)) : x2;
  const colour = `c${colourOf(span)}`;
  const isKept = span.end === "kept" && isOver;
  return markup`<line class="span ${colour}" x1="${round(x1)}" x2="${round(isLost ? knownTo : x2)}" y1="${y}" y2="${y}"/>
${isLost && markup`<line class="unsure" x1="${round(knownTo)}" x2="${round(x2)}" y1="${y}" y2="${y}"/><path class="cross" d="M${round(x2) - 5} ${y - 5}l10 10m0-10l-10 10"/>`}
${isKept && markup`<line class="on ${colour}" x1="${round(x2)}" x2="${row.endX + 16}" y1="${y}" y2="${y}"/>`}
${span.from >= from && !span.isOlder && markup`<circle class="begin ${colour}" cx="${round(x1)}" cy="${y}" r="5.5"/>`}`;
}

/** A label where each session begins, and at the start of each row; left out where there is no room. */
function drawLabels(
  row: Row,
  spans: readonly SessionSpan[],
  y: number,
  several: boolean,
): Markup[] {
  const { from, until } = row;
  return spans.flatMap((span, index) => {
    const x = span.from < from ? row.columns[0]!.x : placeInRow(row, span.from) - 4;
    const next = spans[index + 1];
    const room = (next ? placeInRow(row, next.from) - 10 : row.endX + 16) - x;
    const name = `${span.lane}: ${several ? "session" : "MCP session"} ${span.number}`;
    const whole = span.end === "lost" && span.until <= until ? `${name}, lost` : name;
    const text = [whole, name, `session ${span.number}`, `${span.number}`].find(
      (each) => widthOfText(each) <= room,
    );
    if (text === undefined) return [];
    return markup`<text class="lane c${colourOf(span)}" x="${round(x)}" y="${y - 9}">${text}</text>`;
  });
}

/** From each step's box to the session that it used, for each call. */
function drawStems(row: Row, lane: string, y: number): Markup[] {
  return row.columns.flatMap((column) =>
    column.step.entries.flatMap((entry) => {
      const { event, fields, time } = entry;
      const isCall = event === "operation" && fields["operation"] === "call";
      if (!isCall || fields["action"] !== "started" || laneOf(entry) !== lane) return [];
      const x = round(placeIn(column, time));
      return markup`<line class="stem" x1="${x}" x2="${x}" y1="${row.y + row.boxHeight}" y2="${y - 5}"/>`;
    }),
  );
}

/** The calls that waited in a row. */
export function drawWaits({ steps }: AgentSession, row: Row): Markup[] {
  const { from, until } = row;
  const isLast = until >= steps.at(-1)!.until;
  return row.waits.map((wait, index) => {
    const y = row.waitsY + index * waitHeight + 18;
    const x1 = wait.from < from ? 0 : placeInRow(row, wait.from);
    const isOver = wait.until !== undefined && wait.until <= until;
    const x2 = isOver ? placeInRow(row, wait.until!) : row.endX + 16;
    const rounds = wait.rounds.filter(({ at }) => at >= from && at <= until);
    const textX = Math.max(x1 - 4, row.columns[0]!.x - 8);
    return markup`<line class="wait" x1="${round(x1)}" x2="${round(x2)}" y1="${y}" y2="${y}"/>
${rounds.map(({ at, round: asked }) => markup`<circle class="round" cx="${round(placeInRow(row, at))}" cy="${y}" r="7.5"/><text class="asked" x="${round(placeInRow(row, at))}" y="${y + 3.5}">${asked === 0 ? "→" : asked}</text>`)}
${isOver && markup`<path class="${wait.state === "settled" ? "settled" : "cross"}" d="${wait.state === "settled" ? `M${round(x2) - 5} ${y}l4 4l8 -9` : `M${round(x2) - 5} ${y - 5}l10 10m0-10l-10 10`}"/>`}
<text class="line wait over" x="${round(textX)}" y="${y - 11}">${fit(waitText(wait, isLast), row.endX + 16 - textX)}</text>`;
  });
}

export function waitText({ tool, rounds, from, until, state }: Wait, isLast = true): string {
  const forWhom = rounds[0]?.round === 0 ? "for a sign-in" : "for a person";
  if (until === undefined) return `${tool} ${isLast ? "still waits" : "waits"} ${forWhom}`;
  const end = state === "settled" ? "" : `, then ${state.replaceAll("-", " ")}`;
  return `${tool} waited ${forWhom}: ${printDuration(until - from)}${end}`;
}

/** The time without a step, cut short. */
export function drawGap(row: Row, { gapX, x, gapMs }: Column): Markup | undefined {
  if (gapMs === undefined) return undefined;
  const y = row.y + 24;
  const middle = round((gapX + x) / 2);
  if (gapMs <= 0)
    return markup`<text class="small middle" x="${middle}" y="${y - 7}">overlap</text>`;
  return markup`<text class="small middle" x="${middle}" y="${y - 7}">${printDuration(gapMs)}</text>
<path class="gap" d="M${gapX + 4} ${y}H${middle - 5}M${middle + 5} ${y}H${x - 4}M${middle - 6} ${y + 5}l5 -10m2 10l5 -10"/>`;
}
