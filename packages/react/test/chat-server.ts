import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { UIMessage, UIMessageChunk } from "ai";
import { onTestFinished } from "vitest";
import type { DurableChatState } from "../src/index.ts";

/** Chunks of a stream, a status with a message, a status with a text, a stream that stays open, or no response. */
type Answer =
  | (UIMessageChunk | "breaks off")[]
  | number
  | [number, string]
  | "stays open"
  | "says nothing";

export interface ChatServer {
  /** Of its one chat. */
  readonly api: string;
  state: DurableChatState;
  /** Answers each POST. @default with 500 */
  onPost: (body: { message?: UIMessage }) => Answer;
  /** Answers each GET. @default with 200 */
  status: number;
  readonly posts: { message?: UIMessage }[];
  looks: number;
}

/** A chat over HTTP, as an application's route serves it: its state, and streams of UI messages. */
export async function startChatServer(state: Partial<DurableChatState> = {}): Promise<ChatServer> {
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === "GET") {
      chat.looks += 1;
      response.writeHead(chat.status).end(JSON.stringify(chat.state));
      return;
    }
    let text = "";
    for await (const part of request) text += String(part);
    const body = JSON.parse(text) as { message?: UIMessage };
    chat.posts.push(body);
    send(response, chat.onPost(body));
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const chat: ChatServer = {
    api: `http://127.0.0.1:${port}/chat`,
    state: { messages: [], waiting: [], ...state },
    onPost: () => 500,
    status: 200,
    posts: [],
    looks: 0,
  };
  return chat;
}

function send(response: ServerResponse, answer: Answer): void {
  if (answer === "says nothing") return;
  const [status, text] =
    typeof answer === "number"
      ? [answer, JSON.stringify({ message: `answered with ${answer}` })]
      : answer;
  if (typeof status === "number") {
    response.writeHead(status).end(text);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (answer === "stays open") return response.flushHeaders();
  for (const chunk of answer as readonly unknown[]) {
    // As a process does that is killed.
    if (chunk === "breaks off") return void setTimeout(() => response.destroy(), 20);
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

export function said(id: string, text: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function answered(id: string, text: string): UIMessage {
  return { id, role: "assistant", parts: [{ type: "text", text, state: "done" }] };
}

/** What a model says, as a stream has it. */
export function chunksOf(messageId: string, delta: string): UIMessageChunk[] {
  return [
    { type: "start", messageId },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta },
    { type: "text-end", id: "1" },
    { type: "finish" },
  ];
}

export const question: WaitingCall = {
  id: "call 1",
  type: "question",
  state: "waiting",
  connection: "delivery",
  server: "https://delivery.example",
  method: "tools/call",
  tool: "order",
  round: 1,
  requests: {},
  askedAt: 1,
};

/** The assistant's message with the placeholder of a call. */
export function placeholder(call: WaitingCall): UIMessage {
  const part = {
    type: "dynamic-tool" as const,
    ...{ toolName: "delivery__order", toolCallId: "1", state: "output-available" as const },
    ...{ input: {}, output: { content: [], _meta: { "durable-mcp/waiting": call } } },
  };
  return { id: "a1", role: "assistant", parts: [part] };
}
