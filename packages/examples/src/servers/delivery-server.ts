/**
 * An MCP server without sessions (revision 2026-07-28) whose tool asks a person. What it has to remember between two
 * rounds is in the signed `requestState`, which comes back with the answer.
 *
 *     node delivery-server.ts <port>
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  type InputRequests,
  inputResponse,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** What a `requestState` says: how far a call is. */
interface Progress {
  step: "confirm" | "delivery";
}

const states = createRequestStateCodec<Progress>({
  // Replicas of a server have the same.
  key: randomBytes(32),
  // A person may take a day to answer. The SDK's default is ten minutes.
  ttlSeconds: 86_400,
});
const confirmation = z.object({ ok: z.boolean() });
const delivery = z.object({ time: z.string() });

/** Two rounds: whether, and when. */
async function order(item: string, context: ServerContext) {
  const { inputResponses } = context.mcpReq;
  const { step } = context.mcpReq.requestState<Progress>() ?? {};
  const notOrdered = say(`Your ${item} was not ordered.`);
  if (isRefused(context, "confirm") || isRefused(context, "delivery")) return notOrdered;
  if (step === "delivery") {
    const time = acceptedContent(inputResponses, "delivery", delivery)?.time;
    if (time !== undefined) return say(`Your ${item} comes at ${time}.`);
  }
  if (step === "confirm") {
    const confirmed = acceptedContent(inputResponses, "confirm", confirmation);
    if (confirmed?.ok === false) return notOrdered;
    if (confirmed?.ok) return await ask("delivery", { delivery: askForDelivery(item) });
  }
  return await ask("confirm", { confirm: askToConfirm(item) });
}

async function ask(step: Progress["step"], inputRequests: InputRequests) {
  return inputRequired({ inputRequests, requestState: await states.mint({ step }) });
}

const askToConfirm = (item: string) =>
  inputRequired.elicit({
    message: `Order ${item} for 4.80 €?`,
    requestedSchema: {
      type: "object",
      properties: { ok: { type: "boolean", title: "Yes, order it" } },
      required: ["ok"],
    },
  });

const askForDelivery = (item: string) =>
  inputRequired.elicit({
    message: `When shall ${item} come?`,
    requestedSchema: {
      type: "object",
      properties: {
        time: {
          type: "string",
          title: "Time",
          oneOf: [
            { const: "09:00", title: "9 in the morning" },
            { const: "12:00", title: "Noon" },
            { const: "18:00", title: "6 in the evening" },
          ],
        },
      },
      required: ["time"],
    },
  });

/** Whether a person said no, or closed the question. */
function isRefused({ mcpReq }: ServerContext, key: string): boolean {
  const response = inputResponse(mcpReq.inputResponses, key);
  return response.kind === "elicit" && response.action !== "accept";
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** The server of one request: it keeps nothing between two of them. */
function createDelivery(): McpServer {
  const server = new McpServer(
    { name: "delivery", version: "1.0.0" },
    { requestState: { verify: (state, context) => states.verify(state, context) } },
  );
  server.registerTool(
    "order",
    {
      description: "Orders one item. The shop asks the user whether, and when it shall come.",
      inputSchema: z.object({ item: z.string() }),
    },
    ({ item }, context) => order(item, context),
  );
  return server;
}

const serve = toNodeHandler(createMcpHandler(createDelivery, { legacy: "reject" }));
// Its parameter type leaves out the `undefined` that node's own type has.
createServer((request, response) => void serve(request as never, response)).listen(
  Number(process.argv[2]),
  "127.0.0.1",
);
