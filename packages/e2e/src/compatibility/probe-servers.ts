import type { Facts } from "../../../cli/src/probe/checks.ts";
import { probeUrl } from "../../../cli/src/probe/probe-url.ts";
import { judgeServer, type Verdict } from "../../../cli/src/probe/verdict.ts";
import type { AskingMatrixServer } from "./asking-servers.ts";
import type { ColdServer } from "./cold-steps.ts";
import type { MatrixServer } from "./matrix-server.ts";
import { describeRefusal } from "./refusal.ts";

type Seen = Awaited<ReturnType<typeof probeUrl>>;

/** What the probe of the command line has to say of a server. */
interface ExpectedProbe {
  readonly hasSession?: boolean | undefined;
  readonly isModern?: boolean;
  readonly manySessions?: boolean;
  readonly unknownId?: string | undefined;
  readonly endedId?: string | undefined;
  readonly resumedRequests?: number;
  readonly isUsable: boolean;
  readonly session?: Verdict["session"];
}

const withSession = { hasSession: true, resumedRequests: 1, isUsable: true, session: "stateful" };

/** By what the matrix has recorded. */
function expectedOf({ kind, refusals }: MatrixServer): ExpectedProbe {
  const said = { unknownId: refusals?.unknown, endedId: refusals?.ended };
  if (kind === "unreadable") return { hasSession: undefined, isUsable: false };
  if (kind === "modern only") return { hasSession: undefined, isModern: true, isUsable: true };
  if (kind === "no sessions") return { hasSession: false, isUsable: true };
  return { ...withSession, ...said, manySessions: kind !== "one session" } as ExpectedProbe;
}

/** Asks a server as `durable-mcp probe` does. */
async function probeServer(url: string): Promise<Seen & { verdict: Verdict }> {
  const seen = await probeUrl({
    url: new URL(url),
    headers: {},
    limits: { requestMs: 30_000, watchMs: 500 },
    signal: new AbortController().signal,
    onStart: () => undefined,
  });
  return { ...seen, verdict: judgeServer(seen.facts) };
}

/** A line for everything that the probe says of a server of the matrix, and the matrix does not. */
export async function probeSurprises(server: MatrixServer, url: string): Promise<string[]> {
  return compare(server.name, expectedOf(server), await probeServer(url));
}

/** The same of other servers of the page, which are started and stopped for it. */
export async function probeOther(server: ColdServer | AskingMatrixServer): Promise<string[]> {
  const isAsking = "answers" in server;
  const running = isAsking ? await server.start(600) : await server.start();
  try {
    const seen = await probeServer(running.url);
    const expected: ExpectedProbe = isAsking
      ? { isModern: true, isUsable: true }
      : { hasSession: false, resumedRequests: 1, isUsable: true };
    return compare(server.name, expected, seen);
  } finally {
    await running.stop();
  }
}

function compare(
  name: string,
  expected: ExpectedProbe,
  { facts, rows, verdict }: Seen & { verdict: Verdict },
): string[] {
  const seen = { ...verdict, ...readFacts(facts) };
  const differences = Object.entries(expected).flatMap(([field, value]) => {
    const found = seen[field as keyof typeof seen];
    return value === found
      ? []
      : [`${name}, the probe's ${field}: expected ${String(value)}, saw ${String(found)}`];
  });
  const failed = rows.filter(({ outcome }) => outcome === "failed" && expected.isUsable);
  const left = rows.find(({ check }) => check === "what the probe leaves");
  return [
    ...differences,
    ...failed.map(({ check, says }) => `${name}, the probe's ${check}: ${says}`),
    ...(left?.outcome === "warning" ? [`${name}, the probe leaves: ${left.says}`] : []),
  ];
}

function readFacts({
  handshake,
  modern,
  manySessions,
  unknownId,
  endedId,
  resumedRequests,
}: Facts) {
  return {
    hasSession: handshake?.hasSession,
    isModern: modern !== undefined,
    manySessions,
    unknownId: unknownId && describeRefusal(unknownId),
    endedId: endedId && describeRefusal(endedId),
    resumedRequests,
  };
}
