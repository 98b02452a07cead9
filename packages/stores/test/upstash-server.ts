import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { createClient, ErrorReply } from "redis";
import { startRedis } from "./redis-server.ts";
import { type DatabaseServer, findFreePort } from "./start-server.ts";

export const upstashToken = "a-secret-token";

interface UpstashServer extends DatabaseServer {
  readonly redisPort: number;
  /** The commands' names since the last look. */
  readonly take: () => readonly string[];
}

/**
 * Upstash's REST API before a Redis of its own: a command as a JSON array, `{ result }` or `{ error }`.
 *
 * @see https://upstash.com/docs/redis/features/restapi
 */
export async function startUpstash(): Promise<UpstashServer> {
  const redis = await startRedis();
  const client = createClient({
    url: `redis://127.0.0.1:${redis.port}`,
    commandOptions: { timeout: 1_000 },
  });
  client.on("error", () => undefined);
  await client.connect();
  let isDown = false;
  let taken: string[] = [];

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const reply = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (isDown) return request.socket.destroy();
    if (request.headers.authorization !== `Bearer ${upstashToken}`) {
      return reply(401, { error: "WRONGPASS invalid or missing auth token" });
    }
    const command = (await json(request)) as unknown[];
    taken.push(String(command[0]));
    try {
      return reply(200, { result: await client.sendCommand(command.map(String)) });
    } catch (error) {
      if (error instanceof ErrorReply) return reply(400, { error: error.message });
      return request.socket.destroy();
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  const port = await findFreePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port,
    redisPort: redis.port,
    take() {
      const all = taken;
      taken = [];
      return all;
    },
    async kill() {
      isDown = true;
      server.closeAllConnections();
      await redis.kill();
    },
    async start() {
      await redis.start();
      isDown = false;
    },
    async remove() {
      server.close();
      server.closeAllConnections();
      client.destroy();
      await redis.remove();
    },
  };
}
