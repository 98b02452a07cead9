import { count, printDuration } from "../output/print-values.ts";
import { type AgentSession, sentBy, type Step, titleOf } from "./agent-session.ts";
import { type Column, fit, lineHeight, placeIn, round, type Row, widthOfText } from "./layout.ts";
import { type Markup, markup } from "./markup.ts";
import { processText } from "./words.ts";

/** The id of a step's row in the table. */
export function rowId({ digest }: AgentSession, { number, isAnswer }: Step): string {
  return `s${digest || "0"}-${isAnswer ? "answer" : "step"}-${number}`.replaceAll(/[^\w-]/g, "_");
}

/** A step: its process, what it did, and its requests. */
export function drawBox(
  session: AgentSession,
  row: Row,
  column: Column,
  isLinked: boolean,
): Markup {
  const { step, x, width } = column;
  const { y, boxHeight } = row;
  const took = printDuration(step.until - step.from);
  const lines = column.lines.map((line, index) =>
    drawLine(column, line, y + 48 + index * lineHeight),
  );
  const box = markup`<rect class="box${step.isEnded && !step.isFailed ? "" : " cut"}" x="${x}" y="${y}" width="${width}" height="${boxHeight}" rx="8"/>
<text class="title" x="${x + 10}" y="${y + 19}">${titleOf(step)}</text>
<text class="small end" x="${x + width - 10}" y="${y + 19}">${took}</text>
<text class="small" x="${x + 10}" y="${y + 35}">${fit(`process ${processText(step.process)}`, width - 20)}</text>
${lines}
${drawRequests(step, x, y + boxHeight - 12, width)}`;
  if (!isLinked) return markup`<g>${box}</g>`;
  return markup`<a href="#${rowId(session, step)}" data-row="${rowId(session, step)}" data-title="${describe(step)}">${box}</a>`;
}

function drawLine(column: Column, line: Column["lines"][number], y: number): Markup {
  const { x, width } = column;
  const room = width - 20;
  const aside = line.said ?? line.took;
  const needed = widthOfText(line.text) + (aside === undefined ? 0 : widthOfText(aside) + 8);
  const isRoom = aside !== undefined && needed <= room;
  const shown = line.kind === "bad" && aside !== undefined ? `${line.text} · ${aside}` : line.text;
  const from = placeIn(column, line.at);
  const length = line.until === undefined ? undefined : placeIn(column, line.until) - from;
  const bar =
    length !== undefined &&
    markup`<rect class="bar ${line.kind}" x="${round(from)}" y="${y + 14}" width="${round(Math.max(3, length))}" height="3" rx="1.5"/>`;
  const text = isRoom ? line.text : fit(shown, room);
  return markup`<text class="line ${line.kind}" x="${x + 10}" y="${y + 10}">${text}</text>
${isRoom && markup`<text class="small end" x="${x + width - 10}" y="${y + 10}">${aside}</text>`}
${bar}`;
}

/** A dot for each request, if there is room for all. */
function drawRequests(step: Step, x: number, y: number, width: number): Markup {
  if (!step.isEnded)
    return markup`<text class="line bad" x="${x + 10}" y="${y}">${fit("no end in the log", width - 20)}</text>`;
  const sent = sentBy(step);
  const text = count(sent, "request");
  const room = width - 20 - widthOfText(text) - 6;
  const dots = sent * 8 <= room ? sent : 0;
  const circles = Array.from(
    { length: dots },
    (_, index) => markup`<circle class="dot" cx="${x + 13 + index * 8}" cy="${y - 4}" r="3"/>`,
  );
  return markup`${circles}<text class="line strong" x="${x + 10 + (dots > 0 ? dots * 8 + 4 : 0)}" y="${y}">${text}</text>`;
}

/** The title of what the page shows of a step. */
function describe(step: Step): string {
  const sent = step.isEnded ? count(sentBy(step), "request") : "no end in the log";
  return `${titleOf(step)}, process ${processText(step.process)}, ${printDuration(step.until - step.from)}, ${sent}`;
}
