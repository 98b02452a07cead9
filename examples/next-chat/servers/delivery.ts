import {
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { createTracking } from "./tracking.ts";

/** A person may take a day to answer. The SDK's default is ten minutes. */
const ttlSeconds = 86_400;

const delivery = z.object({
  time: z.string(),
  gift: z.boolean().optional(),
  note: z.string().optional(),
});

/**
 * An MCP server without sessions (revision 2026-07-28) with tools that ask a person, in a form and at a URL, and one
 * that takes long. Of an order it keeps nothing: how far it is comes back with the answer, in the signed
 * `requestState`.
 */
export function createDelivery({
  stateKey,
  payUrl,
}: {
  stateKey: Uint8Array;
  /** Where a person pays. */
  payUrl: URL;
}): (request: Request) => Promise<Response> {
  const states = createRequestStateCodec<{ item: string }>({ key: stateKey, ttlSeconds });

  async function order(
    item: string,
    { mcpReq }: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    const response = inputResponse(mcpReq.inputResponses, "delivery");
    if (response.kind === "elicit" && response.action !== "accept") {
      return say(`Nothing was ordered: you said no to ${item}.`);
    }
    const details = acceptedContent(mcpReq.inputResponses, "delivery", delivery);
    if (details === undefined || mcpReq.requestState<{ item: string }>()?.item !== item) {
      const inputRequests = { delivery: askForDelivery(item) };
      return inputRequired({ inputRequests, requestState: await states.mint({ item }) });
    }
    const { time, gift = false, note } = details;
    const wishes = [gift ? "wrapped as a gift" : "", note ? `with your note “${note}”` : ""];
    return say(
      [`Ordered ${item}. It comes at ${time}`, ...wishes.filter(Boolean)].join(", ") + ".",
    );
  }

  function pay(item: string, { mcpReq }: ServerContext): CallToolResult | InputRequiredResult {
    const response = inputResponse(mcpReq.inputResponses, "payment");
    if (response.kind !== "elicit") {
      const url = `${payUrl.href}?${new URLSearchParams({ item }).toString()}`;
      const payment = inputRequired.elicitUrl({ message: `Pay 4.80 € for ${item}?`, url });
      return inputRequired({ inputRequests: { payment } });
    }
    return say(response.action === "accept" ? `${item} is paid.` : `${item} is not paid.`);
  }

  const registerTracking = createTracking();
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: "delivery", version: "1.0.0" },
        {
          capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
          requestState: { verify: (state, context) => states.verify(state, context) },
        },
      );
      registerTracking(server);
      server.registerTool(
        "order",
        {
          description: "Orders one item. The shop asks the user when it shall come.",
          inputSchema: z.object({ item: z.string() }),
        },
        ({ item }, context) => order(item, context),
      );
      server.registerTool(
        "pay",
        {
          description: "Has the user pay for one item, at a page of the shop.",
          inputSchema: z.object({ item: z.string() }),
        },
        ({ item }, context) => pay(item, context),
      );
      return server;
    },
    { legacy: "reject" },
  );
  return (request) => handler.fetch(request);
}

const askForDelivery = (item: string) =>
  inputRequired.elicit({
    message: `Order ${item} for 4.80 €? When shall it come?`,
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
        gift: { type: "boolean", title: "Wrap it as a gift", default: false },
        note: {
          type: "string",
          title: "Note for the driver",
          description: "At most 80 characters.",
          maxLength: 80,
        },
      },
      required: ["time"],
    },
  });

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
