import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";

/** Serves on a free port of 127.0.0.1 until the test is over. Resolves with the origin. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The same for a handler of web requests. */
export function serveFetch(handler: (request: Request) => Promise<Response>): Promise<string> {
  return serve((request, response) => void answer(request, response, handler));
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = "GET", url = "/", headers } = incoming;
  const hasBody = method === "POST";
  const request = new Request(`http://${headers.host}${url}`, {
    method,
    headers: headers as Record<string, string>,
    ...(hasBody && { body: Readable.toWeb(incoming), duplex: "half" }),
  } as RequestInit);
  const response = await handler(request);
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.flushHeaders();
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
}
