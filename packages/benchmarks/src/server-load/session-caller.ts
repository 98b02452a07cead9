import { type Answer, connectCaller, type HttpCaller } from "./http-caller.ts";

/** A client of revision 2025-11-25 with a session and a connection of its own. */
export interface SessionCaller {
  /** `undefined` on a server without sessions. */
  readonly sessionId: string | undefined;
  /** Calls a tool that greets. Rejects unless the answer does. */
  readonly call: (tool: string, more?: CallArguments) => Promise<Answer>;
  readonly close: () => void;
}

interface CallArguments {
  readonly messages?: number;
  readonly characters?: number;
}

let lastId = 0;

export async function startSessionCaller(port: number): Promise<SessionCaller> {
  const connection = await connectCaller(port);
  const sessionId = await startSession(connection, port);
  const head = headOf(port, sessionId);
  return {
    sessionId,
    async call(tool, more) {
      const params = {
        name: tool,
        arguments: { name: "Ada", ...more },
        ...(more && { _meta: { progressToken: "report" } }),
      };
      const answer = await post(connection, head, { id: ++lastId, method: "tools/call", params });
      if (answer.status !== 200 || !answer.body.includes("Hello, Ada!")) throw failed(answer);
      return answer;
    },
    close: connection.close,
  };
}

/** Starts a session as clients do, with two requests. */
export async function startSession(
  connection: HttpCaller,
  port: number,
): Promise<string | undefined> {
  const clientInfo = { name: "load", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const start = { id: ++lastId, method: "initialize", params };
  const answer = await post(connection, headOf(port, undefined, true), start);
  const id = /\r\nmcp-session-id: (\S+)/i.exec(answer.head)?.[1];
  if (answer.status !== 200) throw failed(answer);
  const initialized = { method: "notifications/initialized" };
  const accepted = await post(connection, headOf(port, id), initialized);
  if (accepted.status !== 202) throw failed(accepted);
  return id;
}

/** All of a POST's head but its length. */
function headOf(port: number, sessionId?: string, isFirst = false): string {
  const lines = [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "connection: keep-alive",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    ...(sessionId === undefined ? [] : [`mcp-session-id: ${sessionId}`]),
    ...(isFirst ? [] : ["mcp-protocol-version: 2025-11-25"]),
    "content-length: ",
  ];
  return lines.join("\r\n");
}

function post(connection: HttpCaller, head: string, message: object): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return connection.send(`${head}${body.length}\r\n\r\n${body}`);
}

function failed({ status, body }: Answer): Error {
  return new Error(`A request was answered with ${status}: ${body.toString().slice(0, 1_000)}`);
}
