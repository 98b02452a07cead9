import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { json } from "node:stream/consumers";
import pg from "pg";
import { type WebSocket, WebSocketServer } from "ws";
import { createPool } from "./open-postgres.ts";

/** What Neon has in front of its databases, in front of a PostgreSQL on a port of 127.0.0.1. */
export interface NeonProxy {
  readonly port: number;
  /** How many statements came over HTTP since the last look. */
  readonly take: () => number;
  readonly close: () => Promise<void>;
}

/** @see https://neon.com/docs/serverless/serverless-driver */
export async function startNeonProxy(target: number): Promise<NeonProxy> {
  let requests = 0;
  const pool = createPool(target);
  const server = createServer((request, response) => {
    requests += 1;
    void answer(pool, request, response);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => tunnel(socket, target));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    take() {
      const taken = requests;
      requests = 0;
      return taken;
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await pool.end();
    },
  };
}

/** One statement over HTTP. All values are text, which Neon's driver reads by their types. */
async function answer(
  pool: pg.Pool,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { query, params } = (await json(request)) as { query: string; params: unknown[] };
  const say = (status: number, body: string) => void response.writeHead(status).end(body);
  try {
    const { fields, rows, rowCount, command } = await pool.query({
      ...{ text: query, values: params, rowMode: "array" },
      types: { getTypeParser: () => (text: string) => text },
    });
    say(200, JSON.stringify({ fields, rows, rowCount, command }));
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) return say(500, "The database cannot be reached.");
    const { message, code } = error;
    say(400, JSON.stringify({ message, code }));
  }
}

/** The bytes of a connection, in messages. */
function tunnel(socket: WebSocket, port: number): void {
  const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("message", (data: Buffer) => void upstream.write(data));
  socket.on("error", () => undefined).on("close", () => upstream.destroy());
  upstream.on("data", (data) => socket.send(data));
  upstream.on("error", () => undefined).on("close", () => socket.close());
}
