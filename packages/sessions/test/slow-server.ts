import { setTimeout } from "node:timers/promises";
import { startHttpServer, type TestHttpServer } from "../../core/test/http-server.ts";
import type { Interceptor } from "./notebook-server.ts";
import { serveModernTasks } from "./slow-modern-tasks.ts";
import { serveSlowSessions } from "./slow-sessions.ts";
import { createWork, type SlowParts, type Work } from "./slow-work.ts";

/** How the server's calls outlive a request: as tasks of either revision, or on streams that can be resumed. */
export type SlowKind = "task of 2025-11-25" | "task of 2026-07-28" | "stream";

export const slowKinds: readonly SlowKind[] = [
  "task of 2025-11-25",
  "task of 2026-07-28",
  "stream",
];

export interface SlowServer extends TestHttpServer {
  readonly url: string;
  /** All calls that the server has begun, in order. */
  readonly works: readonly Work[];
  /** Resolves when so many calls have begun. */
  readonly begun: (count?: number) => Promise<void>;
  /** Finishes all work. */
  readonly finish: () => void;
  /** Has the work ask a person for a year. */
  readonly ask: () => void;
  /** Forgets everything, as a restart does. */
  readonly restart: () => void;
  readonly intercept: (interceptor: Interceptor) => void;
}

const letPass: Interceptor = () => "next";

/** A server with the tool `research`, whose calls end when the test says so. On the official SDKs. */
export async function startSlowServer(
  kind: SlowKind,
  { ttlMs = 600_000 }: { readonly ttlMs?: number | undefined } = {},
): Promise<SlowServer> {
  const works: Work[] = [];
  let interceptor = letPass;
  const begin = (topic: string) => {
    const work = createWork(topic);
    works.push(work);
    return work;
  };
  const setAll = (state: Work["state"]) => {
    for (const work of works) if (["working", "asking"].includes(work.state)) work.set(state);
  };
  const parts: SlowParts = { begin, ttlMs };
  const { handle, restart } =
    kind === "task of 2026-07-28"
      ? serveModernTasks(parts)
      : serveSlowSessions(parts, kind === "task of 2025-11-25");
  const server = await startHttpServer(async (request, response) => {
    if ((await interceptor(request, response)) === "next") await handle(request, response);
  });
  return Object.assign(server, {
    url: `${server.origin}/mcp`,
    works,
    async begun(count = 1) {
      while (works.length < count) await setTimeout(10);
    },
    finish: () => setAll("done"),
    ask: () => setAll("asking"),
    restart,
    intercept(next: Interceptor) {
      interceptor = next;
    },
  });
}
