import { once } from "node:events";
import { type IncomingMessage, request as send, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { startLoopbackServer } from "./loopback-server.ts";

/** What a gateway does when the server behind it has answered. */
export type GatewayFault = "504" | "502 page" | "200 page" | "reset" | "silence";

export interface Gateway {
  readonly origin: string;
  readonly openTo: (target: string) => void;
  /** What refreshes meet from now on, after the server has carried them out. */
  readonly break: (fault: GatewayFault | undefined) => void;
  /** The refresh tokens that have passed, in order. */
  readonly refreshes: () => string[];
}

/** A real gateway before an authorization server. */
export async function startGateway(): Promise<Gateway> {
  let [target, fault] = ["", undefined as GatewayFault | undefined];
  const refreshes: string[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url, headers } = request;
    const body = await buffer(request);
    const form = new URLSearchParams(body.toString());
    const refreshToken = url === "/token" ? form.get("refresh_token") : null;
    if (refreshToken !== null) refreshes.push(refreshToken);
    const passed = send(new URL(url!, target), { method, headers });
    passed.end(body);
    const [answer] = (await once(passed, "response")) as [IncomingMessage];
    const carriedOut = await buffer(answer);
    const page = (status: number) =>
      response.writeHead(status, { "content-type": "text/html" }).end("<h1>Gateway</h1>");
    if (refreshToken === null || fault === undefined) {
      response.writeHead(answer.statusCode!, answer.headers).end(carriedOut);
    } else if (fault === "504") response.writeHead(504).end();
    else if (fault === "502 page") page(502);
    else if (fault === "200 page") page(200);
    else if (fault === "reset") request.socket.destroy();
  };
  const server = await startLoopbackServer((request, response) => void pass(request, response));
  return {
    origin: server.origin,
    openTo: (origin) => void (target = origin),
    break: (next) => void (fault = next),
    refreshes: () => [...refreshes],
  };
}
