import { count, printDuration } from "../output/print-values.ts";
import { type AgentSession, type Step, titleOf } from "./agent-session.ts";
import { rowId } from "./draw-boxes.ts";
import { waitText } from "./draw-lanes.ts";
import { type Markup, markup } from "./markup.ts";
import { deedsOf, processText } from "./words.ts";

/** The same as the picture, in words, with all that the log says of each step. */
export function stepTable(session: AgentSession): Markup {
  const entries = session.steps.flatMap((step) => step.entries);
  const several = new Set(entries.map(({ connection }) => connection)).size > 1;
  return markup`<table role="table"><caption>Every step, with all that it did. Times are UTC.</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Step</th><th role="columnheader" scope="col">Process</th><th role="columnheader" scope="col">Began</th><th role="columnheader" scope="col" class="number">Took</th><th role="columnheader" scope="col" class="number">Requests</th><th role="columnheader" scope="col">What it did</th></tr></thead>
<tbody role="rowgroup">${session.steps.map((step) => stepRow(session, step, several))}</tbody></table>
${waitList(session)}`;
}

function stepRow(session: AgentSession, step: Step, several: boolean): Markup {
  const sent = [...step.requests].map(([connection, number]) =>
    several ? `${number} to ${connection}` : `${number}`,
  );
  return markup`<tr role="row" id="${rowId(session, step)}"><th role="rowheader" scope="row">${titleOf(step)}</th><td role="cell" data-label="Process">${processText(step.process)}</td><td role="cell" data-label="Began">${timeText(step.from)}</td><td role="cell" class="number" data-label="Took">${printDuration(step.until - step.from)}</td><td role="cell" class="number" data-label="Requests">${sent.length > 0 ? sent.join(", ") : "not known"}</td><td role="cell"><ul class="did">${did(step, several)}${!step.isEnded && markup`<li class="bad">The log has no end of this step: it is under way, or its process died.</li>`}${step.isFailed && markup`<li class="bad">The step failed, such as its model.</li>`}</ul></td></tr>
`;
}

/** Of the calls of a long step, this many are listed. */
const mostLines = 60;

function did(step: Step, several: boolean): Markup[] {
  const deeds = deedsOf(step);
  const items = deeds.slice(0, mostLines).map(({ text, connection, took, said, kind, until }) => {
    const at = several ? ` (${connection})` : "";
    // What takes time is not quiet here.
    const style = until !== undefined && (kind === "quiet" || said === undefined) ? "" : kind;
    const ended = `${took === undefined ? "" : `, ${took}`}${said === undefined ? "" : `: ${said}`}`;
    return markup`<li class="${style}">${text}${at}${ended}</li>`;
  });
  const more = deeds.length - mostLines;
  if (more > 0)
    items.push(markup`<li class="quiet">and ${count(more, "line")} more in the log</li>`);
  return items;
}

function waitList({ waits }: AgentSession): Markup | undefined {
  if (waits.length === 0) return undefined;
  const items = waits.map((wait) => {
    const rounds = wait.rounds.filter(({ round }) => round > 0).length;
    const asked = rounds > 1 ? ` The server asked ${rounds} times.` : "";
    return markup`<li>${waitText(wait)} (since ${timeText(wait.from)}).${asked}</li>`;
  });
  return markup`<h3>Calls that waited</h3><ul>${items}</ul>`;
}

/** `2026-11-23 09:30:00` */
export function timeText(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace("T", " ");
}
