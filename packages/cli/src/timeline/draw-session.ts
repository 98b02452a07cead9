import { count } from "../output/print-values.ts";
import type { AgentSession } from "./agent-session.ts";
import { drawBox } from "./draw-boxes.ts";
import { drawGap, drawLanes, drawWaits } from "./draw-lanes.ts";
import { layOut, type Measures, wide } from "./layout.ts";
import { Markup, markup } from "./markup.ts";
import { colours, darkColours, pictureStyle } from "./style.ts";

/** The picture of an agent session in a page, whose style it takes. Each step leads to its row in the table. */
export function drawSession(session: AgentSession, measures: Measures, className: string): Markup {
  const { width, height, content } = draw(session, measures, true);
  return markup`<svg class="picture ${className}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="The steps in the order of time. Each leads to its row in the table.">${content}</svg>`;
}

/** The picture as a file of its own, for a README. It follows the reader's colour scheme. */
export function drawPicture(session: AgentSession, title: string): string {
  const { width, height, content } = draw(session, wide, false);
  const style = `:root{${colours}}@media (prefers-color-scheme:dark){:root{${darkColours}}}${pictureStyle}`;
  const description = `${count(session.steps.length, "step")} of an agent session in the order of time, each with its process, what it called, and how many HTTP requests it sent; below them the MCP sessions that the steps used.`;
  const edge = 14;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title text" viewBox="${-edge} ${-edge} ${width + 2 * edge} ${height + 2 * edge}" width="${width + 2 * edge}" height="${height + 2 * edge}"><title id="title">${title}</title><desc id="text">${description}</desc><style>${new Markup(style)}</style><rect class="ground" x="${-edge}" y="${-edge}" width="${width + 2 * edge}" height="${height + 2 * edge}" rx="10"/>${content}</svg>
`.text;
}

function draw(session: AgentSession, measures: Measures, isLinked: boolean) {
  const layout = layOut(session, measures);
  const content = layout.rows.map(
    (row) => markup`<g>${drawLanes(session, layout.lanes, row)}${drawWaits(session, row)}
${row.columns.map((column) => markup`${drawGap(row, column)}${drawBox(session, row, column, isLinked)}`)}</g>`,
  );
  return { width: layout.width, height: Math.round(layout.height), content };
}
