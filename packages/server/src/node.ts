import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Serve, serveOf } from "./base/reply.ts";
import { parsedBody, ServedIncoming } from "./node/served-incoming.ts";
import { fail, writeAnswer } from "./node/write-answer.ts";

/**
 * Serves a handler over `node:http`, and as a middleware of Express and similar frameworks. If a
 * parser in front of it has read the body (`express.json()`), it uses `request.body`.
 */
export function toNodeHandler(
  handler: (request: Request) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const serve = serveOf.get(handler);
  return serve ? listenerOf(serve) : webListenerOf(handler);
}

/** The short way: no `Request` and no `Response`, unless the author's functions want them. */
function listenerOf(serve: Serve): (request: IncomingMessage, response: ServerResponse) => void {
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    try {
      writeAnswer(await serve(new ServedIncoming(incoming, outgoing)), incoming, outgoing);
    } catch (error) {
      fail(error, outgoing);
    }
  };
  return (incoming, outgoing) => void answer(incoming, outgoing);
}

function webListenerOf(
  handler: (request: Request) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener(handler, { overrideGlobalObjects: false });
  return (request, response) => {
    const body = request.readableEnded ? parsedBody(request) : undefined;
    if (body) Object.assign(request, { rawBody: body });
    // It answers failures with 500, and never rejects.
    void listener(request, response);
  };
}
