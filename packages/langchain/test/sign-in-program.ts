/** One run of a graph on the locked notebook, in a process of its own, which may die on its way. */
import { readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { Command, MemorySaver } from "@langchain/langgraph";
import {
  createNotesApplication,
  type NotesUse,
} from "../../e2e/src/authorization/notes-application.ts";
import { createNotesSessions } from "../../e2e/src/authorization/parked-note.ts";
import openSqlite from "../../stores/test/open-sqlite.ts";
import { createToldAgent, questions, results } from "./shop.ts";

/** When a process dies: when the graph gets the interrupt, or before or after the server, or with the result. */
export type Death = "interrupted" | "claimed" | "answered" | "saved";

export interface SignInTask extends NotesUse {
  readonly storePath: string;
  readonly checkpointsPath: string;
  readonly note: string;
  readonly work: "start" | "resume" | "go on";
  readonly dieAt?: Death | undefined;
}

const task = JSON.parse(process.argv[2]!) as SignInTask;
const { storePath, checkpointsPath, note, work, dieAt, aheadMs = 0 } = task;

const passes = (place: Death) => {
  if (place === dieAt) process.kill(process.pid, "SIGKILL");
};

/** Checkpoints in a file. */
class FileSaver extends MemorySaver {
  load(): this {
    return Object.assign(this, deserialize(readFileSync(checkpointsPath)));
  }
  save(): void {
    const { storage, writes } = this;
    writeFileSync(checkpointsPath, serialize({ storage, writes }));
  }
  override async put(...args: Parameters<MemorySaver["put"]>) {
    const config = await super.put(...args);
    this.save();
    return config;
  }
  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>) {
    const channels = args[1].map(([channel]) => channel);
    if (channels.includes("__interrupt__")) passes("interrupted");
    else if (work === "resume") passes("saved");
    await super.putWrites(...args);
    this.save();
  }
}

const dyingFetch: typeof fetch = async (input, init) => {
  const isCall = work !== "start" && JSON.stringify(init?.body ?? "").includes("tools/call");
  if (isCall) passes("claimed");
  const response = await fetch(input, init);
  if (isCall) passes("answered");
  return response;
};

const { store } = openSqlite(storePath);
const application = createNotesApplication(task, { store });
const { principal } = application;
const now = () => Date.now() + aheadMs;
const sessions = createNotesSessions(task, { application, store, fetch: dyingFetch, now });
const agent = createToldAgent(
  (run) => sessions.run(note, { principal }, run),
  work === "start" ? [[{ name: "notes__add_note", args: { text: note }, id: "call" }]] : [],
  { checkpointer: work === "start" ? new FileSaver() : new FileSaver().load() },
);
const state = await {
  start: agent.start,
  resume: () => agent.run(new Command({ resume: true })),
  "go on": () => agent.goOn(),
}[work]();
console.log(JSON.stringify({ questions: questions(state), results: results(state) }));
process.exit();
