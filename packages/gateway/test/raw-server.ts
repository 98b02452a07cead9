import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { listen } from "../../server/test/listen.ts";

/** A message that a server got. */
export interface GotMessage {
  readonly id?: number | string;
  readonly method: string;
}

/** Answers a message, or leaves it to the usual answers with `false`. */
export type RawAnswer = (message: GotMessage, response: ServerResponse) => unknown;

const json = { "content-type": "application/json" };

/** A server with sessions whose answers are written by hand. */
export async function startRawServer(answer: RawAnswer) {
  const seen: string[] = [];
  const handle = async (body: string, method: string, response: ServerResponse) => {
    if (method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body) as GotMessage;
    seen.push(message.method);
    if ((await answer(message, response)) !== false) return undefined;
    const { id } = message;
    if (id === undefined) return response.writeHead(202).end();
    const serverInfo = { name: "raw", version: "1.0.0" };
    const capabilities = { tools: {} };
    const result =
      message.method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities, serverInfo }
        : { content: [{ type: "text", text: "fine" }] };
    response.writeHead(200, { ...json, "mcp-session-id": "raw-session" });
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  const server = await listen((request, response) => {
    void text(request).then((body) => handle(body, request.method!, response));
  });
  onTestFinished(server[Symbol.asyncDispose]);
  return { url: server.url, seen };
}
