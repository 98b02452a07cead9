/**
 * `npm run lab -- comparison [-- --write]`: what callers of each client see when two processes use one session at once, when a
 * server forgets a session, and when a connection breaks. With `--write` the table of docs/comparison.md is written.
 * Fails when durable-mcp does not do what the page says.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fillSection } from "../report/page.ts";
import { describeRun } from "../report/results.ts";
import { markdownTable } from "../report/text-table.ts";
import { clients } from "./clients.ts";
import {
  type AfterLoss,
  type AtOnce,
  callAfterLoss,
  callAtOnce,
  callWithoutAnswer,
  resumeAfterLoss,
} from "./situations.ts";

const { write } = parseArgs({ options: { write: { type: "boolean", default: false } } }).values;
const page = new URL("../../../../docs/comparison.md", import.meta.url);
const { date, cpu, node } = describeRun([]);

const columns = [
  "client",
  "two processes at once in one session, ten calls each",
  "the server forgets the session of a connected client",
  "a new process resumes a forgotten session",
  "the connection breaks after the tool ran: SSE",
  "… and JSON",
];
const rows: string[][] = [];
for (const name of Object.keys(clients)) {
  const row = [
    name,
    atOnceText(await callAtOnce(name)),
    afterLossText(await callAfterLoss(name)),
    resumedText((await resumeAfterLoss(name))?.kind),
    unansweredText(await callWithoutAnswer(name, false)),
    unansweredText(await callWithoutAnswer(name, true)),
  ];
  console.log(row.join(" | "));
  rows.push(row);
}
const [ours] = rows;
assert.deepEqual(ours?.slice(1), [
  "20 right",
  "answered, in a new session",
  "answered, in a new session",
  "`OUTCOME_UNKNOWN`; ran once",
  "`OUTCOME_UNKNOWN`; ran once",
]);
if (write) {
  const run = `Written by \`npm run lab -- comparison --write\` on ${date}: ${cpu}; Node ${node}.`;
  const table = markdownTable({ columns, rows });
  writeFileSync(page, fillSection(readFileSync(page, "utf8"), "runs", `${table}\n\n${run}`));
}
// Calls that hang, and clients that listen, would keep the process.
process.exit();

function atOnceText(counts: AtOnce | undefined): string {
  if (counts === undefined) return "no option for it";
  return (["right", "crossed", "failed", "hung"] as const)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${kind}`)
    .join(", ");
}

function afterLossText({ call, next }: AfterLoss): string {
  if (call.kind === "answered") return resumedText("answered");
  return next.kind === "answered"
    ? `${call.kind}; the next call is answered`
    : `${call.kind}; the next call, too`;
}

function resumedText(kind: "answered" | "failed" | "hung" | undefined): string {
  if (kind === undefined) return "no option for it";
  return kind === "answered" ? "answered, in a new session" : kind;
}

function unansweredText({ call, runs }: AfterLoss): string {
  const said =
    call.kind !== "failed"
      ? call.kind
      : /^[A-Z_]+$/.test(call.message)
        ? `\`${call.message}\``
        : "an error";
  const often = runs === 1 ? "ran once" : runs === 2 ? "ran twice" : `ran ${runs} times`;
  return `${said}; ${often}`;
}
