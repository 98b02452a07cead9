// What the store operations of one call of a server cost in this process.
import type { SessionStore } from "@durable-mcp/core";

const value = { version: 1, kind: "session", text: "x".repeat(2_000) };
const answer = { text: "x".repeat(300) };
const rounds = 4_000;

/** A call of a server: it reads its session, puts an answer and deletes one that is 16 calls old. */
async function call(store: SessionStore, session: string, n: number): Promise<void> {
  await store.get(session);
  const put = { type: "put", key: `${session} ${n}`, value: answer, ifRevision: null } as const;
  await store.batch!([
    { ...put, owner: "o", expiresAt: Date.now() + 600_000 },
    { type: "delete", key: `${session} ${n - 16}` },
  ]);
}

/** CPU and time of a call, in microseconds, with so many at once. */
export async function measureCalls(store: SessionStore, callers: number): Promise<string> {
  const sessions = Array.from({ length: callers }, (_, n) => `calls ${callers} session ${n}`);
  for (const session of sessions) {
    await store.delete(session);
    await store.put(session, value, null, { owner: "o" });
  }
  let n = 0;
  const run = (count: number) =>
    Promise.all(
      sessions.map(async (session) => {
        for (let round = 0; round < count / callers; round += 1) await call(store, session, ++n);
      }),
    );
  await run(rounds / 4);
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run(rounds);
  const took = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return `${((user + system) / rounds).toFixed(0)} µs CPU, ${((took * 1_000) / rounds).toFixed(0)} µs`;
}
