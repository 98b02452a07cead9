import { connectCaller } from "./http-caller.ts";
import { withServers } from "./running-servers.ts";
import type { ServerName } from "./server-kinds.ts";
import { startSession } from "./session-caller.ts";
import type { StorePlaces } from "./store-places.ts";

/** What many live sessions cost. */
export interface SessionFigures {
  readonly server: ServerName;
  /** On the heap, for each session: what is left after a collection of garbage. */
  readonly heapBytes: number;
  /** Of the process, with all sessions. */
  readonly residentBytes: number;
  /** Two requests each. */
  readonly startedPerSecond: number;
}

const connections = 10;

/** One server after the other, so that they do not take the memory from each other. */
export async function measureSessions(
  names: readonly ServerName[],
  sessions: number,
  places: StorePlaces,
): Promise<SessionFigures[]> {
  const measured: SessionFigures[] = [];
  for (const name of names) {
    const run = { names: [name], format: "sse", callers: 0, places } as const;
    await withServers(run, async ([server]) => {
      const before = await server!.figuresWithoutGarbage();
      const start = performance.now();
      await startSessions(server!.port, sessions);
      const seconds = (performance.now() - start) / 1_000;
      const { residentBytes } = await server!.figures();
      const after = await server!.figuresWithoutGarbage();
      measured.push({
        server: name,
        heapBytes: (after.heapBytes - before.heapBytes) / sessions,
        residentBytes,
        startedPerSecond: sessions / seconds,
      });
    });
  }
  return measured;
}

async function startSessions(port: number, count: number): Promise<void> {
  let started = 0;
  const startSome = async () => {
    const connection = await connectCaller(port);
    while (started++ < count) await startSession(connection, port);
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, startSome));
}
