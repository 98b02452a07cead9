import { type MeasuredServer, startMeasuredServer } from "./measured-server.ts";
import { type ServerName, serverKinds } from "./server-kinds.ts";
import { type SessionCaller, startSessionCaller } from "./session-caller.ts";
import type { StorePlaces } from "./store-places.ts";

export type AnswerFormat = "sse" | "json";

/** A started server and its clients. */
export interface RunningServer extends MeasuredServer {
  readonly name: ServerName;
  readonly callers: SessionCaller[];
}

export interface ServersToRun {
  readonly names: readonly ServerName[];
  readonly format: AnswerFormat;
  /** For each server, with a session and a connection each. */
  readonly callers: number;
  readonly places: StorePlaces;
  /** Whether the operations of the stores are counted. @default false */
  readonly isCounted?: boolean;
}

/** Runs servers beside one another while `use` measures them. */
export async function withServers<Result>(
  { names, format, callers, places, isCounted }: ServersToRun,
  use: (servers: readonly RunningServer[]) => Promise<Result>,
): Promise<Result> {
  const servers: RunningServer[] = [];
  try {
    for (const name of names) {
      const kind = serverKinds[name];
      const place = await places.placeFor(kind);
      const args = [kind.kept, format, place, ...(isCounted ? ["counted"] : [])];
      const started = await startMeasuredServer(kind.program, args);
      const server = { ...started, name, callers: [] as SessionCaller[] };
      servers.push(server);
      for (let n = 0; n < callers; n++) server.callers.push(await startSessionCaller(server.port));
    }
    return await use(servers);
  } finally {
    for (const server of servers) {
      for (const caller of server.callers) caller.close();
      await server.stop();
    }
  }
}
