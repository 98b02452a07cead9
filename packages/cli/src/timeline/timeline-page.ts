import { createHash } from "node:crypto";
import { printDuration } from "../output/print-values.ts";
import { type AgentSession, sentBy, type Step } from "./agent-session.ts";
import { drawSession } from "./draw-session.ts";
import { narrow, wide } from "./layout.ts";
import { Markup, markup } from "./markup.ts";
import { stepTable, timeText } from "./step-table.ts";
import { pageScript, pageStyle } from "./style.ts";

/** Not written in the page's template: the build would have a helper for it that is no dependency. */
const script = `<script>${pageScript}</script>`;

/**
 * One page that needs nothing else: no network, no other file. Everything from the log is escaped.
 *
 * @param notes what the reader has to know about the log, and about what is left out
 */
export function timelinePage(sessions: readonly AgentSession[], notes: readonly string[]): string {
  const policy = `default-src 'none'; style-src '${hashOf(pageStyle)}'; script-src '${hashOf(pageScript)}'; base-uri 'none'; form-action 'none'`;
  const title = `Timeline of ${sessions.length === 1 ? "an agent session" : "agent sessions"}`;
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title><style>${new Markup(pageStyle)}</style></head>
<body><header><h1>${title}</h1>
<p class="quiet">Each box is a step, with its process, which may run others too. Below are the MCP sessions, which outlast steps and processes. Point at a step, or reach it with the Tab key, to see all that it did.</p>
${notes.map((note) => markup`<p class="note">${note}</p>`)}</header>
<main>${sessions.map(sessionPart)}</main>
<footer><p class="quiet">Made by <code>durable-mcp timeline</code> from an event log. The log has no session ids, tokens, arguments or answers.</p></footer>
<div id="tip" hidden aria-hidden="true"></div>${new Markup(script)}</body></html>
`.text;
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

function sessionPart(session: AgentSession): Markup {
  const { steps, digest } = session;
  const [first, last] = [steps[0]!, steps.at(-1)!];
  const title = digest === "" ? "Steps without an agent session" : `Agent session ${digest}`;
  const until = Math.max(...steps.map((step) => step.until));
  const when = `${timeText(first.from)} UTC, ${printDuration(until - first.from)} from the first step to the end of ${last.isAnswer ? "the last answer" : "the last step"}`;
  return markup`<section><h2>${title}</h2><p class="quiet">${when}</p>
${facts(session)}
<figure>${drawSession(session, wide, "wide")}${drawSession(session, narrow, "narrow")}${key(session)}</figure>
<h3>The same in words</h3>${stepTable(session)}</section>
`;
}

function facts({ steps, spans, waits }: AgentSession): Markup {
  const countIf = (is: (step: Step) => boolean) => steps.filter(is).length;
  const calls = steps.flatMap(({ operations }) => operations.filter(({ kind }) => kind === "call"));
  const counted: [number, one: string, many: string, kind?: string][] = [
    [countIf(({ isAnswer }) => !isAnswer), "step", "steps"],
    [new Set(steps.map(({ process }) => process)).size, "process", "processes"],
    [calls.length, "call", "calls"],
    [steps.reduce((sum, step) => sum + sentBy(step), 0), "HTTP request", "HTTP requests"],
    [spans.length, "MCP session", "MCP sessions"],
    [spans.filter(({ end }) => end === "lost").length, "session lost", "sessions lost", "bad"],
    [waits.length, "call that waited", "calls that waited", "wait"],
    [countIf(({ isAnswer }) => isAnswer), "answer", "answers"],
    [countIf(({ isEnded }) => !isEnded), "step without an end", "steps without an end", "bad"],
  ];
  const shown = counted.filter(([value]) => value > 0);
  return markup`<dl class="facts">${shown.map(
    ([value, one, many, kind = ""]) =>
      markup`<div class="${kind}"><dt>${value === 1 ? one : many}</dt><dd>${value.toLocaleString("en")}</dd></div>`,
  )}</dl>`;
}

/** What the signs of the picture mean, as far as they are in it. */
function key({ spans, waits, steps }: AgentSession): Markup {
  const isLost = spans.some(({ end }) => end === "lost");
  return markup`<ul class="key">${sign(markup`<circle class="dot" cx="13" cy="7" r="3"/>`, "an HTTP request")}${sign(markup`<rect class="bar" x="1" y="5" width="24" height="3" rx="1.5"/>`, "a call, as long as it took within its step")}${
    spans.length > 0 && [
      sign(
        markup`<line class="span c1" x1="6" x2="26" y1="7" y2="7"/><circle class="begin c1" cx="6" cy="7" r="5.5"/>`,
        "an MCP session, from its start",
      ),
      sign(
        markup`<line class="on c1" x1="0" x2="26" y1="7" y2="7"/>`,
        "goes on after the last step",
      ),
    ]
  }${isLost && sign(markup`<line class="unsure" x1="0" x2="20" y1="7" y2="7"/><path class="cross" d="M15 2l10 10m0-10l-10 10"/>`, "lost: the server forgot it between the last answer and the refusal")}${waits.length > 0 && sign(markup`<line class="wait" x1="0" x2="26" y1="7" y2="7"/>`, "a call that waits; the number counts the server's questions")}${steps.length > 1 && sign(markup`<path class="gap" d="M0 7H8M18 7H26M7 12l5 -10m2 10l5 -10"/>`, "no step was under way; cut short, however long it was")}</ul>`;
}

function sign(drawing: Markup, text: string): Markup {
  return markup`<li><svg width="26" height="14" viewBox="0 0 26 14" aria-hidden="true">${drawing}</svg>${text}</li>`;
}
