// Calls what a block serves.
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** Calls a tool of an MCP server: the first, as a user with a token. */
export async function callServer(url: string, fetch: any = globalThis.fetch) {
  const client = new Client({ name: "reader", version: "1.0.0" }, {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: "auto" },
  } as never);
  client.setRequestHandler?.(
    "elicitation/create" as never,
    (async () => ({
      ...{ action: "accept", content: { ok: true, floors: 3 } },
    })) as never,
  );
  const requestInit = { headers: { authorization: "Bearer token" } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));
  const [tool] = (await client.listTools()).tools;
  const input = { text: "tea", item: "tea", city: "Oslo" };
  const result: any = await client.callTool({ name: tool!.name, arguments: input });
  check(result.isError !== true, JSON.stringify(result));
  await client.close();
}

/** Asks what listens on a port, as soon as it does: an MCP server, or an application. */
export async function callPort(port: number, code: string) {
  for (let tries = 0; tries < 100 && !(await listens(port)); tries += 1) await wait(50);
  const origin = `http://127.0.0.1:${port}`;
  const isChat = /\} = chat;/.test(code);
  if (code.includes("@durable-mcp/server") && !isChat) return await callServer(`${origin}/mcp`);
  const path = code.includes("@durable-mcp/oauth") ? "/oauth/start" : isChat ? "/api/chat/1" : "/";
  return await readToEnd(await fetch(origin + path, { redirect: "manual" }));
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

export async function readToEnd(response: Response) {
  const text = await response.text();
  check(response.status < 400, `HTTP ${response.status}: ${text}`);
  check(!text.includes('"type":"error"'), text);
}

export function check(isRight: unknown, problem: string): void {
  if (!isRight) throw new Error(problem);
}
