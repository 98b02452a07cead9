import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

/**
 * Serves a handler over `node:http`, and as a middleware of Express and similar frameworks. If a
 * parser in front of it has read the body (`express.json()`), it uses `request.body`.
 */
export function toNodeHandler(
  handler: (request: Request) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener(handler, { overrideGlobalObjects: false });
  return (request, response) => {
    const { body } = request as { body?: unknown };
    if (request.readableEnded && body !== undefined) {
      Object.assign(request, { rawBody: Buffer.from(printed(body)) });
    }
    // It answers failures with 500, and never rejects.
    void listener(request, response);
  };
}

/** A body as it was sent; empty if it is too deep to be printed. */
function printed(body: unknown): string | Uint8Array {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  try {
    return JSON.stringify(body);
  } catch {
    return "";
  }
}
