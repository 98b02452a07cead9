import type { ServerResponse } from "node:http";
import { type ReceivedRequest, startHttpServer } from "./http-server.ts";
import { sendJson, sendResult, sendText } from "./mcp-server.ts";
import { createRpcClient } from "./rpc-client.ts";
import { initializeResult } from "./session-snapshot.ts";

/** How a server without sessions answers. The test may change it at any time. */
export interface ServerTurn {
  ttlMs: number | undefined;
  cacheScope: "public" | "private";
  /** The pages of `tools/list`; the cursor is the page's number. */
  pages: object[][];
  supportedVersions: string[];
  /** Answers instead, if it gives true. */
  before?: (request: ReceivedRequest, response: ServerResponse) => boolean;
}

export const sqlTool = (header = "Region") => ({
  name: "sql",
  inputSchema: {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": header }, query: { type: "string" } },
  },
});

/** For `before`: answers in the server's place. */
export function answerText(...args: Parameters<typeof sendText>): true {
  sendText(...args);
  return true;
}

export function answerJson(...args: Parameters<typeof sendJson>): true {
  sendJson(...args);
  return true;
}

const error = (code: number, data?: object) => ({
  code,
  message: "refused",
  ...(data && { data }),
});

/** A server of 2026-07-28, strict about its revision and about `Mcp-Param-*`. */
export async function startModernServer(turn: Partial<ServerTurn> = {}) {
  const state: ServerTurn = {
    ...{ ttlMs: 60_000, cacheScope: "private", pages: [[sqlTool()]] },
    ...{ supportedVersions: ["2026-07-28"], ...turn },
  };
  const server = await startHttpServer((request, response) => {
    if (state.before?.(request, response)) return;
    const { message, headers } = request;
    const { id, method, params } = message;
    const refuse = (code: number, data?: object) =>
      sendJson(response, 400, { jsonrpc: "2.0", id, error: error(code, data) });
    const revision = params?.["_meta"]?.["io.modelcontextprotocol/protocolVersion"];
    const supported = state.supportedVersions;
    if (!supported.includes(revision)) return refuse(-32_022, { supported, requested: revision });
    if (headers["mcp-method"] !== method) return refuse(-32_020);
    const { ttlMs, cacheScope, pages } = state;
    const common = { resultType: "complete", ...(ttlMs !== undefined && { ttlMs }), cacheScope };
    const reply = (result: object) => sendResult(response, id, { ...result, ...common });
    if (method === "server/discover") {
      return reply({ supportedVersions: supported, capabilities: { tools: {} } });
    }
    if (method === "tools/list") {
      const page = Number(params.cursor ?? 0);
      const nextCursor = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {};
      return reply({ tools: pages[page], ...nextCursor });
    }
    if (method.endsWith("/list")) return reply({ [listNames[method]!]: [] });
    const tool: any = pages.flat().find(({ name }: any) => name === params.name);
    const text = tool ? "done" : `Unknown tool: ${params.name}`;
    const { "x-mcp-header": header } = tool?.inputSchema.properties?.region ?? {};
    const sent = header && headers[`mcp-param-${header.toLowerCase()}`];
    if (header && sent !== params.arguments?.region) return refuse(-32_020);
    sendResult(response, id, { content: [{ type: "text", text }], isError: tool === undefined });
  });
  return withLog(server, state);
}

const listNames: Record<string, string> = {
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** A server of the session era that names no session. */
export async function startSessionlessServer(turn: Partial<ServerTurn> = {}) {
  const state: ServerTurn = {
    ...{ ttlMs: undefined, cacheScope: "private", pages: [[sqlTool()]] },
    ...{ supportedVersions: ["2025-11-25"], ...turn },
  };
  const server = await startHttpServer((request, response) => {
    if (state.before?.(request, response)) return;
    const { message, headers, method: httpMethod } = request;
    if (httpMethod !== "POST") return sendText(response, 405, "");
    const [version] = state.supportedVersions;
    if (message.method === "server/discover") return sendText(response, 400, "Bad Request");
    if (message.method === "initialize") {
      return sendResult(response, message.id, { ...initializeResult, protocolVersion: version });
    }
    const named = headers["mcp-protocol-version"];
    if (named !== version)
      return sendText(response, 400, `Unsupported protocol version: ${String(named)}`);
    if (message.id === undefined) return sendText(response, 202, "");
    const content = [{ type: "text", text: "done" }];
    if (message.method === "tools/list") {
      return sendResult(response, message.id, { tools: state.pages.flat() });
    }
    sendResult(response, message.id, { content });
  });
  return withLog(server, state);
}

function withLog(server: Awaited<ReturnType<typeof startHttpServer>>, state: ServerTurn) {
  return {
    url: `${server.origin}/mcp`,
    requests: server.requests,
    state,
    /** The methods since the last call. */
    takeLog: () =>
      server.requests.splice(0).map(({ message, method }) => message?.method ?? method),
  };
}

const revision = "2026-07-28";

/** A client of 2026-07-28: it probes, lists, and calls. */
export function createModernClient(
  fetch: typeof globalThis.fetch,
  url: string,
  { capabilities = {}, version = revision }: { capabilities?: object; version?: string } = {},
) {
  const client = createRpcClient(fetch, url, { "mcp-protocol-version": version });
  const request = (method: string, params: Record<string, any> = {}, init: RequestInit = {}) => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(params["name"] && { "mcp-name": params["name"] }),
      ...(init.headers as object),
    };
    return client.request(method, { ...params, _meta: meta }, { ...init, headers });
  };
  const list = async () => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { result } = await request("tools/list", cursor === undefined ? {} : { cursor });
      names.push(...result.tools.map(({ name }: { name: string }) => name));
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    return names;
  };
  const call = (name = "sql", region = "eu", init?: RequestInit) =>
    request("tools/call", { name, arguments: { region } }, init);
  return { request, list, call };
}
