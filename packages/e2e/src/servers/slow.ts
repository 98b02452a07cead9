import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { serveModernTasks } from "../../../sessions/test/slow-modern-tasks.ts";
import type { SlowKind } from "../../../sessions/test/slow-server.ts";
import { serveSlowSessions } from "../../../sessions/test/slow-sessions.ts";
import { createWork, type SlowParts, type Work } from "../../../sessions/test/slow-work.ts";

/** A server whose calls end when its program says so, in the process of that. It keeps them as tasks or on streams. */
export interface SlowProgram {
  readonly url: string;
  /** All that it has begun: its ledger of effects. */
  readonly works: readonly Work[];
  /** Gets each message before the server does. */
  onMessage: (message: any) => void;
  readonly close: () => Promise<void>;
}

export async function startSlowProgram(
  kind: SlowKind,
  { isPlain, onWork }: Pick<SlowParts, "isPlain"> & { onWork?: (work: Work) => void } = {},
): Promise<SlowProgram> {
  const works: Work[] = [];
  const begin = (topic: string) => {
    const work = createWork(topic);
    works.push(work);
    onWork?.(work);
    return work;
  };
  const parts = { begin, ttlMs: 2_000_000_000, isPlain };
  const { handle } =
    kind === "task of 2026-07-28"
      ? serveModernTasks(parts)
      : serveSlowSessions(parts, kind === "task of 2025-11-25");
  const receive = async (raw: IncomingMessage, response: ServerResponse) => {
    const body = await text(raw);
    const { method = "", url: path = "", headers } = raw;
    const message: unknown = body === "" ? undefined : JSON.parse(body);
    if (message !== undefined) program.onMessage(message);
    await handle({ method, path, headers, body, message, raw }, response);
  };
  const server = createServer((raw, response) => {
    // A process that was killed ends its requests.
    receive(raw, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const program: SlowProgram = {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, works },
    onMessage: () => undefined,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
  return program;
}
