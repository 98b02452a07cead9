/** A server with one resource, which counts, and with sessions. What it has stands in a file, and outlives it. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { randomFromSeed } from "../replicas/random-from-seed.ts";

export interface NewsBoard {
  readonly port: number;
  /** Has a `BoardState`. */
  readonly file: string;
  readonly seed: number;
}

export interface BoardState {
  readonly value: number;
  readonly isTroubled: boolean;
}

export const resource = "board://chaos";

export default async function serveBoard({ port, file, seed }: NewsBoard): Promise<void> {
  const random = randomFromSeed(seed);
  const known = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id, method } = (await json(request)) as { id?: number; method?: string };
    const session = request.headers["mcp-session-id"]?.toString();
    const reply = (status: number, body?: object, headers = {}) =>
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(body && JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    if (request.method !== "POST") return reply(405);
    if (method === "initialize") {
      const own = randomUUID();
      known.add(own);
      const serverInfo = { name: "board", version: "1.0.0" };
      const capabilities = { resources: {} };
      const result = { protocolVersion: "2025-11-25", capabilities, serverInfo };
      return reply(200, { result }, { "mcp-session-id": own });
    }
    if (id === undefined) return reply(202);
    if (session === undefined) return reply(400, { error: { code: -32_000, message: "No id" } });
    if (!known.has(session))
      return reply(404, { error: { code: -32_001, message: "Session not found" } });
    if (method !== "resources/read")
      return reply(200, { error: { code: -32_601, message: "Method not found" } });
    const { value, isTroubled } = JSON.parse(readFileSync(file, "utf8")) as BoardState;
    const text = String(value);
    const roll = isTroubled ? random() : 1;
    // A late answer is an old one: whoever waits for it is given up for dead after a second.
    if (roll < 0.15) await setTimeout(200 + random() * 2_000);
    else if (roll < 0.25) return reply(503);
    else if (roll < 0.3) return void response.destroy();
    else if (roll < 0.35) known.clear();
    return reply(200, { result: { contents: [{ uri: resource, text }] } });
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(port, "127.0.0.1");
  await once(server, "close");
}
