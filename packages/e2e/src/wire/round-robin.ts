import {
  Agent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobin {
  readonly url: string;
  /** Requests that a replica refused (the connection, or with 503); each went to the next one. */
  readonly refused: number;
  /** 400 and 404 to requests that carried a session id. */
  readonly sessionErrors: number;
  /** Requests whose connection broke after a replica had accepted it. */
  readonly broken: number;
  /** Sends a replica no more requests, as before a deploy, or some again. */
  setServing: (url: string, isServing: boolean) => void;
  /** Breaks the connections of the clients that get an answer now, and none of the replicas'. */
  breakAnswers: () => void;
  close: () => Promise<void>;
}

const isUnavailable = new Error("503");

/** How long a request waits for any replica, in milliseconds. */
const patienceMs = 20_000;

/**
 * Sends each request to the next replica, as a load balancer without sticky sessions does. What a
 * replica refuses is tried at the next one: connections, and 503, which says that nothing was done.
 * Nothing else is tried again.
 */
// oxlint-disable-next-line max-lines-per-function -- one server, with all that it can be told to do
export async function startRoundRobin(targets: readonly URL[]): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: false });
  let sessionErrors = 0;
  const paused = new Set<string>();
  const answering = new Set<ServerResponse>();
  let refused = 0;
  let broken = 0;
  let turn = 0;

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const serving = targets.filter(({ href }) => !paused.has(href));
      const target = serving[turn++ % serving.length]!;
      try {
        return await send(target, request, Buffer.concat(chunks), response);
      } catch (error) {
        const isRefused = (error as { code?: string }).code === "ECONNREFUSED";
        if (!(isRefused || error === isUnavailable) || Date.now() > deadline) throw error;
        refused += 1;
        if (turn % targets.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  function send(target: URL, request: IncomingMessage, body: Buffer, response: ServerResponse) {
    return new Promise<void>((resolve, reject) => {
      const headers = { ...request.headers, host: target.host, connection: "close" };
      const options = { agent, method: request.method, headers };
      const upstream = httpRequest(target, options, (answer) => {
        const status = answer.statusCode ?? 0;
        if (status === 503) {
          answer.resume();
          reject(isUnavailable);
          return;
        }
        const isSessionError = status === 400 || status === 404;
        if (isSessionError && request.headers["mcp-session-id"] !== undefined) sessionErrors += 1;
        const { connection: _, ...answerHeaders } = answer.headers;
        response.writeHead(status, answerHeaders);
        response.flushHeaders();
        answer.on("error", () => {
          broken += 1;
          response.destroy();
        });
        answering.add(response);
        response.on("close", () => answering.delete(response));
        answer.pipe(response);
        resolve();
      });
      upstream.on("error", reject);
      response.setMaxListeners(0); // one for each replica that refused
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    });
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => {
      broken += 1;
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    get sessionErrors() {
      return sessionErrors;
    },
    get refused() {
      return refused;
    },
    get broken() {
      return broken;
    },
    setServing: (url, isServing) => {
      if (isServing) paused.delete(url);
      else paused.add(url);
    },
    breakAnswers: () => {
      for (const response of answering) response.destroy();
    },
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
