import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type ForgottenAnswer, forgottenAnswer } from "../../../core/test/forgotten-answers.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name: string; readonly arguments: { readonly item: string } };
  readonly result?: { readonly content: { readonly item: string } };
}

const initializeResult = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "forgetful", version: "1" },
};
const inputSchema = { type: "object", properties: { item: { type: "string" } } };
const tools = ["buy", "ask"].map((name) => ({ name, inputSchema }));
const requestedSchema = { type: "object", properties: { item: { type: "string", default: "" } } };

function send(response: ServerResponse, id: unknown, result: object, headers = {}) {
  return response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

/**
 * A server that forgets its sessions, and says so in the way of a row. If the row does not say that a request was
 * refused unprocessed, the work is done first.
 */
export async function startForgetfulServer(row: ForgottenAnswer) {
  const known = new Set<string>();
  const forgotten = new Set<string>();
  /** What was bought, in order. */
  const ledger: string[] = [];
  /** The methods that came. */
  const log: string[] = [];
  let isForgettingWhenAsked = false;
  const forget = () => {
    for (const id of known) forgotten.add(id);
    known.clear();
  };

  const refuse = (response: ServerResponse, message: Message = {}) => {
    const { status, type, text } = forgottenAnswer(row, message);
    return response.writeHead(status, { "content-type": type }).end(text);
  };
  const work = ({ params, result }: Message) => {
    const item = params?.arguments.item ?? result?.content.item;
    if (item !== undefined) ledger.push(item);
  };
  const asked: ServerResponse[] = [];
  const ask = (response: ServerResponse, item: string) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    requestedSchema.properties.item.default = item;
    const params = { message: "Which?", requestedSchema };
    const question = { jsonrpc: "2.0", id: 1, method: "elicitation/create", params };
    if (isForgettingWhenAsked) forget();
    asked.push(response);
    response.write(`data: ${JSON.stringify(question)}\n\n`);
  };

  const answer = (message: Message, response: ServerResponse) => {
    const { id, method, params } = message;
    if (method === "tools/list") return send(response, id, { tools });
    if (method === "ping") return send(response, id, {});
    if (method !== "tools/call") return response.writeHead(202).end();
    if (params!.name === "ask") return ask(response, params!.arguments.item);
    work(message);
    return send(response, id, { content: [{ type: "text", text: params!.arguments.item }] });
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const sessionId = String(request.headers["mcp-session-id"]);
    if (request.method !== "POST") {
      const isGone = request.method === "DELETE" && forgotten.has(sessionId);
      return isGone ? refuse(response) : response.writeHead(405).end();
    }
    const message = (await json(request)) as Message;
    log.push(message.method ?? "answer");
    if (message.method === "initialize") {
      const isNamed = !row.isSessionless || forgotten.size === 0;
      const own = randomUUID();
      if (isNamed) known.add(own);
      return send(response, message.id, initializeResult, isNamed ? { "mcp-session-id": own } : {});
    }
    if (forgotten.has(sessionId)) {
      const isDone = row.call !== "again" && message.method !== "tools/list";
      if (isDone) work(message);
      refuse(response, message);
      // The process that ran the calls has ended.
      for (const open of asked.splice(0)) open.destroy();
      return response;
    }
    if (known.has(sessionId) || row.isSessionless) return answer(message, response);
    return response.writeHead(400).end("No valid session ID provided");
  };

  const server = createServer((request, response) => void serve(request, response));
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    ledger,
    log,
    forget,
    /** Forgets them when it has asked a question. */
    forgetWhenAsked: () => void (isForgettingWhenAsked = true),
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
