/** `kill -9` between a graph's interrupt and its end, with a real authorization server. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from "../../e2e/src/authorization/authorization-server.ts";
import { type LockedServer, startLockedServer } from "../../e2e/src/authorization/locked-server.ts";
import { createNotesApplication } from "../../e2e/src/authorization/notes-application.ts";
import { createNotesSessions } from "../../e2e/src/authorization/parked-note.ts";
import openSqlite from "../../stores/test/open-sqlite.ts";
import type { Death, SignInTask } from "../test/sign-in-program.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-graph-"));
let authorization: AuthorizationServer;
let locked: LockedServer;
beforeAll(async () => {
  authorization = await startAuthorizationServer();
  locked = await startLockedServer({ sdk: 2, issuer: authorization.issuer });
});
afterAll(async () => {
  await Promise.all([locked?.stop(), authorization?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const program = new URL("../test/sign-in-program.ts", import.meta.url).pathname;

/** Runs one process. @returns what it says; `undefined` if it is killed */
function run(task: SignInTask) {
  const args = ["--conditions=@durable-mcp/source", program, JSON.stringify(task)];
  const env = { ...process.env, NODE_OPTIONS: "", NODE_NO_WARNINGS: "1" };
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  if (signal === "SIGKILL") return undefined;
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as { questions: unknown[]; results: string[] };
}

const note = "1 notes";
const unknown = expect.stringContaining("carried out is unknown");
const deaths: [dieAt: Death, died: boolean[], result: unknown, runs: number][] = [
  ["interrupted", [true, false], note, 1],
  ["claimed", [false, true], unknown, 0],
  ["answered", [false, true], unknown, 1],
  ["saved", [false, true], note, 1],
];

test.each(deaths)(
  "killed when %s: the call is made at most once",
  async (dieAt, died, told, runs) => {
    const redirectUrl = "http://127.0.0.1:3999/oauth/callback";
    const use = { url: locked.url, redirectUrl, user: dieAt };
    const storePath = join(folder, `${dieAt}.db`);
    const task = { ...use, storePath, checkpointsPath: join(folder, dieAt), note: dieAt };
    const { store, close } = openSqlite(storePath);
    const application = createNotesApplication(use, { store });
    const { principal } = application;
    await application.signIn();
    const sessions = createNotesSessions(use, { application, store });
    await sessions.run(dieAt, { principal }, (step) => step.tools());
    await authorization.revokeGrants(dieAt);

    const first = run({ ...task, work: "start", dieAt });
    const waiting = await sessions.waiting(dieAt, { principal });
    expect(waiting).toMatchObject([{ scopes: expect.any(Array) }, { tool: "add_note", round: 0 }]);
    await application.signIn();
    const second = run({ ...task, work: "resume", dieAt });
    expect([first, second].map((said) => said === undefined)).toEqual(died);
    const last = run({ ...task, work: "go on", aheadMs: 120_000 });
    expect(last).toEqual({ questions: [], results: [told] });
    expect(locked.runs(dieAt)).toBe(runs);
    await close?.();
  },
);
