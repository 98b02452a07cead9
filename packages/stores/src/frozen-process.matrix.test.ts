import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type FrozenProgram, limitMs, startFrozenProgram } from "../../core/test/frozen-process.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";

const program = new URL("../test/frozen-store-program.ts", import.meta.url);

/** The key that the program reads, and what PostgreSQL is sent in its place. */
const marks = [Buffer.from("frozen-key"), createHash("sha256").update("frozen-key").digest()];

/** A network to a port of 127.0.0.1, on which the first answer about that key is on its way for long. */
async function startSlowNetwork(target: number, freeze: FrozenProgram["freeze"]): Promise<number> {
  let answer: "before" | "next" | "sent" = "before";
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
    client.on("data", (piece) => {
      const isAsked = marks.some((mark) => piece.includes(mark));
      if (answer === "before" && isAsked) answer = "next";
      upstream.write(piece);
    });
    upstream.on("data", (piece) => {
      const write = () => void client.write(piece);
      if (answer === "next") void freeze(write);
      else write();
      if (answer === "next") answer = "sent";
    });
    client.on("error", () => undefined).on("close", () => upstream.destroy());
    upstream.on("error", () => undefined).on("close", () => client.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe.each([
  { kind: "redis", unavailable: redisUnavailable, start: () => startRedis() },
  { kind: "postgres", unavailable: postgresUnavailable, start: () => startPostgres() },
])("$kind", ({ kind, unavailable, start }) => {
  if (unavailable !== undefined) console.warn(`skipped: ${kind}: ${unavailable}`);
  test.skipIf(unavailable !== undefined)(
    "an answer that arrived while the process stood still for longer than timeoutMs is read",
    async () => {
      const database = await start();
      onTestFinished(() => database.remove());
      let isFrozen = false;
      const port = await startSlowNetwork(database.port, async (meanwhile) => {
        isFrozen = true;
        await frozen.freeze(meanwhile);
      });
      const frozen = startFrozenProgram(program, kind, String(port), String(limitMs));
      expect(await frozen.printed).toBe("answered\n");
      expect(isFrozen).toBe(true);
    },
  );
});
