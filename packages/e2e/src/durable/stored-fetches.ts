import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { expect, onTestFinished } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { forkProgram } from "./fork-program.ts";
import { principal } from "./notebook-sessions.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "./store-place.ts";
import type { FetchReport, FetchTask } from "./stored-fetch-program.ts";

/** A notebook, a store, and processes with clients on both. */
async function start(kind: StoreKind) {
  const [server, { remove, ...place }] = await Promise.all([
    startNotebookServer(),
    startStorePlace(kind),
  ]);
  onTestFinished(async () => {
    await server.stop();
    await remove();
  });
  const fork = async (client: ClientName, note: string) => {
    const task = { client, url: server.url, place, note } satisfies FetchTask;
    const program = forkProgram<"go", FetchReport>("stored-fetch-program.ts", [
      JSON.stringify(task),
    ]);
    expect(await program.receive()).toBe("ready");
    return {
      async call() {
        program.send("go");
        return (await program.receive()) as { said: string };
      },
      kill: program.kill,
      async end() {
        program.send("go");
        return await program.ended;
      },
    };
  };
  return { server, place, fork };
}

/** Each client goes on in the session of the one before, whose process was killed. */
export async function expectOneSessionOverKills(kind: StoreKind): Promise<void> {
  const { server, fork } = await start(kind);
  for (const [index, client] of clientNames.entries()) {
    const process = await fork(client, client);
    expect(await process.call()).toEqual({ said: `${index + 1} notes` });
    expect(await process.kill()).toBe("SIGKILL");
  }
  const { requests, sessions } = await server.stats();
  expect(sessions).toBe(1);
  // The handshake and the list of the first client, and a call of each.
  expect(requests).toMatchObject({ POST: 3 + clientNames.length });
}

/** So many processes at once leave one session and one record. */
export async function expectOneSessionOf(count: number, kind: StoreKind): Promise<void> {
  const { server, place, fork } = await start(kind);
  const clients = Array.from({ length: count }, (_, at) => clientNames[at % clientNames.length]!);
  const processes = await Promise.all(clients.map((client, at) => fork(client, `note ${at}`)));
  const said = await Promise.all(processes.map((process) => process.call()));
  expect(new Set(said.map((each) => each.said)).size).toBe(count);
  const ends = await Promise.all(processes.map((process) => process.end()));
  expect(new Set(ends)).toEqual(new Set(["exit code 0"]));
  const { sessions, notesAdded } = await server.stats();
  expect(sessions).toBe(1);
  expect(Object.values(notesAdded)).toEqual(Array.from({ length: count }, () => 1));

  const opened = await openStoreAt(place);
  const durable = createDurableSessions({ connections: {}, store: opened.store });
  const { sessions: listed } = await durable.admin.list({});
  expect(listed).toMatchObject([
    { sessionId: "chat 1", connection: "notebook", kind: "session", server: {} },
  ]);
  await durable.end("chat 1", { principal });
  expect((await durable.admin.list({})).sessions).toEqual([]);
  await opened.close?.();
}
