/**
 * An MCP server without sessions (revision 2026-07-28) whose tools ask a person. What it has to remember between two
 * rounds is in the signed `requestState`, which comes back with the answer.
 *
 *     node delivery-server.ts <port>
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { createDelivery } from "./delivery-tools.ts";

const port = Number(process.argv[2]);
/** The pages with the terms on which a person has agreed. */
const agreed = new Set<string>();
const handler = createMcpHandler(
  createDelivery({
    stateKey: randomBytes(32),
    termsUrl: (page) => `http://127.0.0.1:${port}/terms/${page}`,
    hasAgreed: (page) => agreed.has(page),
  }),
  { legacy: "reject" },
);

const serve = toNodeHandler({
  fetch: async (request: Request) => {
    const page = /^\/terms\/([\w-]+)$/.exec(new URL(request.url).pathname)?.[1];
    if (page === undefined) return await handler.fetch(request);
    if (request.method === "POST") agreed.add(page);
    return new Response(termsPage(agreed.has(page)), { headers: { "content-type": "text/html" } });
  },
});
// Its parameter type leaves out the `undefined` that node's own type has.
createServer((request, response) => void serve(request as never, response)).listen(
  port,
  "127.0.0.1",
);

function termsPage(hasAgreed: boolean): string {
  const rest = hasAgreed
    ? "<p>You have agreed. Go back to the chat, and say that you are done.</p>"
    : '<form method="post"><button>I agree</button></form>';
  return `<!doctype html><title>Terms</title><h1>Terms of the tea club</h1><p>Drink tea.</p>${rest}`;
}
