import { type ForkedProgram, forkProgram } from "../durable/fork-program.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { type LockedServer, startLockedServer } from "./locked-server.ts";
import { createNotesApplication, type NotesUse } from "./notes-application.ts";
import type { Race, RefresherReport, RefresherTask } from "./refresher-protocol.ts";

type Refresher = ForkedProgram<RefresherTask, RefresherReport>;

/** Living processes of one application, whose only user has signed in. */
export interface Refreshers {
  readonly authorization: AuthorizationServer;
  readonly locked: LockedServer;
  readonly use: NotesUse;
  readonly processes: readonly Refresher[];
}

/** Lends processes that share a store, and ends them. */
export async function withRefreshers<RESULT>(
  {
    store: kind,
    processes: count,
    accessTokenSeconds,
  }: { store: StoreKind; processes: number; accessTokenSeconds?: number },
  run: (refreshers: Refreshers) => Promise<RESULT>,
): Promise<RESULT> {
  const ends: (() => Promise<unknown>)[] = [];
  try {
    const { remove, ...place } = await startStorePlace(kind);
    ends.push(remove);
    const authorization = await startAuthorizationServer({
      ...(accessTokenSeconds !== undefined && { accessTokenSeconds }),
    });
    ends.push(() => authorization.stop());
    const locked = await startLockedServer({ sdk: 2, issuer: authorization.issuer });
    ends.push(() => locked.stop());
    const { store, close } = await openStoreAt(place);
    ends.push(async () => await close?.());

    const program = new URL("refresher-program.ts", import.meta.url);
    const processes = Array.from({ length: count }, () =>
      forkProgram<RefresherTask, RefresherReport>(program),
    );
    ends.push(() => Promise.all(processes.map((each) => each.kill())));
    await Promise.all(
      processes.map(async (each) => {
        await each.receive();
        each.send({ type: "start", place });
        await each.receive();
      }),
    );
    const use = {
      ...{ url: locked.url, user: "ada" },
      redirectUrl: "http://127.0.0.1:10239/callback",
    };
    await createNotesApplication(use, { store }).signIn();
    return await run({ authorization, locked, use, processes });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

/** Has all of them do the same at once. `answers` has for each that was answered how long it took, in milliseconds. */
export async function raceAll(
  processes: readonly Refresher[],
  race: Race,
): Promise<{ answers: number[]; faults: string[] }> {
  for (const each of processes) each.send({ type: "race", ...race });
  const met = await Promise.all(processes.map((each) => each.receive()));
  const done = await Promise.all(
    processes.map(async (each, index) => {
      // It did not come to the meeting.
      if (met[index]!.type !== "waiting") return met[index]!;
      each.send({ type: "go" });
      return await each.receive();
    }),
  );
  const answers: number[] = [];
  const faults = met.some(({ type }) => type !== "waiting") ? ["not all of them met"] : [];
  for (const report of done) {
    if (report.type !== "done") throw new Error(`${report.type} came instead of done.`);
    if (report.outcome === race.use.user) answers.push(report.ms);
    else faults.push(report.outcome);
  }
  return { answers, faults };
}
