import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import dynalite from "dynalite";

export interface DynamoDbServer {
  readonly port: number;
  /** The emulator itself, which knows no removal of expired items. */
  readonly barePort: number;
  /** Loses the answer to the next request of this kind. */
  readonly loseNext: (operation: string) => void;
  /** The operations since the last look. */
  readonly take: () => readonly string[];
  readonly remove: () => Promise<void>;
}

/**
 * An emulator in this process, behind a network of our own. It has no removal of expired items, so that is
 * answered here: as DynamoDB does, with an error for all calls but the first.
 */
export async function startDynamoDb(): Promise<DynamoDbServer> {
  const emulator = dynalite({ createTableMs: 20 }).listen(0, "127.0.0.1");
  await once(emulator, "listening");
  const target = (emulator.address() as { port: number }).port;
  const lost: string[] = [];
  const removing = new Set<string>();
  let taken: string[] = [];

  const answerTtl = (operation: string, body: string, response: ServerResponse) => {
    const { TableName: table } = JSON.parse(body) as { TableName: string };
    const reply = (status: number, answer: object) =>
      response
        .writeHead(status, { "content-type": "application/x-amz-json-1.0" })
        .end(JSON.stringify(answer));
    if (operation === "DescribeTimeToLive") {
      const TimeToLiveStatus = removing.has(table) ? "ENABLED" : "DISABLED";
      return reply(200, { TimeToLiveDescription: { TimeToLiveStatus } });
    }
    if (removing.has(table)) {
      const type = { __type: "com.amazon.coral.validate#ValidationException" };
      return reply(400, { ...type, message: "TimeToLive is already enabled" });
    }
    removing.add(table);
    return reply(200, {});
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    taken.push(operation);
    const body = await text(request);
    if (operation.endsWith("TimeToLive")) return answerTtl(operation, body, response);
    // The emulator is consistent in any case.
    if (/Get|Query/.test(operation) && !body.includes('"ConsistentRead":true')) {
      return response.writeHead(400).end('{"__type":"NotConsistentException"}');
    }
    const { method, url: path, headers } = request;
    const upstream = httpRequest({ host: "127.0.0.1", port: target, method, path, headers });
    upstream.on("error", () => request.socket.destroy());
    upstream.on("response", (reply) => {
      const index = lost.indexOf(operation);
      if (index === -1) {
        reply.pipe(response.writeHead(reply.statusCode!, reply.headers));
        return;
      }
      lost.splice(index, 1);
      reply.resume().on("end", () => request.socket.destroy());
    });
    return upstream.end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    barePort: target,
    port: (server.address() as { port: number }).port,
    loseNext: (operation) => void lost.push(operation),
    take() {
      const all = taken;
      taken = [];
      return all;
    },
    async remove() {
      server.close();
      server.closeAllConnections();
      await new Promise((resolve) => emulator.close(resolve));
    },
  };
}
