import { once } from "node:events";
import { type ClientRequest, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { countDuring, type OperationFigures, perUnit } from "./measure-operations.ts";
import { type RunningServer, withServers } from "./running-servers.ts";
import type { ServerName } from "./server-kinds.ts";
import { median } from "./statistics.ts";
import type { StorePlaces } from "./store-places.ts";

type StoreFigures = Pick<OperationFigures, "reads" | "writes" | "operations">;

/** A call that sends many messages before its answer. Operations are those of one call. */
export interface ProgressFigures extends StoreFigures {
  readonly server: ServerName;
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
}

/** Open GET streams without a message. Operations are those of a second, of all streams. */
export interface IdleFigures extends StoreFigures {
  readonly server: ServerName;
  /** Of one core. */
  readonly cpuShare: number;
}

export const progress = { messages: 1_000, characters: 5_000 };
export const idleStreams = 200;
const progressRounds = 3;
const idleSeconds = 5;

/** The operations are counted in the same run: counting costs nothing that one would see here. */
export async function measureStreams(
  names: readonly ServerName[],
  places: StorePlaces,
): Promise<{ progress: ProgressFigures[]; idle: IdleFigures[] }> {
  const run = { names, format: "sse", callers: idleStreams, places, isCounted: true } as const;
  return await withServers(run, async (servers) => ({
    progress: await measureProgress(servers),
    idle: await measureIdle(servers),
  }));
}

async function measureProgress(servers: readonly RunningServer[]): Promise<ProgressFigures[]> {
  const taken = new Map<RunningServer, Omit<ProgressFigures, "server">[]>();
  for (const server of servers) taken.set(server, []);
  for (let round = 0; round <= progressRounds; round++) {
    for (const [server, rounds] of taken) {
      const start = performance.now();
      const counted = await countDuring(server, () => reportOnce(server));
      const milliseconds = performance.now() - start;
      const cpuMilliseconds = counted.cpuMicroseconds / 1_000;
      // The first is a warm-up.
      if (round > 0) rounds.push({ milliseconds, cpuMilliseconds, ...perUnit(counted, 1) });
    }
  }
  return [...taken].map(([server, rounds]) => ({
    ...rounds.at(-1)!,
    server: server.name,
    milliseconds: median(rounds.map((one) => one.milliseconds)),
    cpuMilliseconds: median(rounds.map((one) => one.cpuMilliseconds)),
  }));
}

async function reportOnce({ callers, name }: RunningServer): Promise<void> {
  const { body } = await callers[0]!.call("report", progress);
  const messages = body.toString().split('"method":"notifications/progress"').length - 1;
  if (messages !== progress.messages) throw new Error(`${name} sent ${messages} messages.`);
}

async function measureIdle(servers: readonly RunningServer[]): Promise<IdleFigures[]> {
  const opened: ClientRequest[] = [];
  try {
    for (const server of servers) {
      for (const { sessionId } of server.callers) opened.push(await listen(server.port, sessionId));
    }
    // What opening them has started is over then.
    await sleep(2_000);
    return await Promise.all(
      servers.map(async (server) => {
        const counted = await countDuring(server, () => sleep(idleSeconds * 1_000));
        const cpuShare = counted.cpuMicroseconds / 1_000_000 / idleSeconds;
        return { server: server.name, cpuShare, ...perUnit(counted, idleSeconds) };
      }),
    );
  } finally {
    for (const request of opened) request.destroy();
  }
}

async function listen(port: number, sessionId = ""): Promise<ClientRequest> {
  const headers = {
    accept: "text/event-stream",
    "mcp-protocol-version": "2025-11-25",
    "mcp-session-id": sessionId,
  };
  const request = get({ host: "127.0.0.1", port, path: "/mcp", headers, agent: false });
  const [response] = await once(request, "response");
  if (response.statusCode !== 200) throw new Error(`A stream got ${response.statusCode}.`);
  // Destroyed at the end, by this side.
  response.on("error", () => undefined).resume();
  request.on("error", () => undefined);
  return request;
}
