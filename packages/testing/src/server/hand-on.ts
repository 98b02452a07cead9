import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";

// A kept connection may end while it is taken: a fault that nobody asked for.
const agent = new Agent({ keepAlive: false });

/** Each side's own connection decides about these. */
const hopByHop = ["connection", "keep-alive", "transfer-encoding"];

/** Hands a request on as it came to the server at `target`, whose path takes the place of `/mcp`. */
export async function handOn(
  incoming: IncomingMessage,
  body: Buffer,
  target: URL,
  signal: AbortSignal,
): Promise<Response> {
  const url = new URL((incoming.url ?? "/").replace(/^\/mcp/, target.pathname), target);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { ...incoming.headers, host: target.host, connection: "close" };
    const sent = request(url, { agent, method: incoming.method, headers, signal }, resolve);
    sent.on("error", reject).end(body);
  });
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    if (!hopByHop.includes(name)) for (const value of values) headers.append(name, value);
  }
  const status = answer.statusCode ?? 0;
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream), {
    status,
    headers,
  });
}
