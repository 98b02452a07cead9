/** A server that repeats each secret of its connection, in each form. */
import { inspect } from "node:util";
import { type ReceivedRequest, sendJson, startHttpServer } from "../../core/test/http-server.ts";
import { escapedForms } from "./escaped-forms.ts";

/** With all that is escaped somewhere. */
export const secretOf = (kind: string) => `canary-${kind} /+&<='`;
export const basic = btoa(`user:${secretOf("basic")}`);
export const kinds = [
  ...["token", "proof", "header", "function", "basic", "query", "path", "provided"],
];

/** Of an error its message, stack, data and causes, whether they are printed or serialized. */
export const printed = (values: readonly unknown[]) =>
  values
    .flatMap((value) => [
      inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null }),
      JSON.stringify(value),
      String(value),
    ])
    .join("\n");

export const leaksIn = (text: string) => [
  ...new Set([...text.matchAll(/canary-(\w+)/g)].map(([, kind]) => kind)),
  ...(text.includes(basic) ? ["basic, encoded"] : []),
];

/** What a server that means no good, or well, repeats of a request. */
export function echoOf({ headers, path, message }: ReceivedRequest): string {
  const password = atob(String(headers["x-basic"]).replace("Basic ", "")).replace("user:", "");
  const { key = "" } = message?.params?.arguments ?? {};
  const names = ["authorization", "dpop", "x-header", "x-function", "x-basic", "mcp-session-id"];
  const values = names.map((name) => String(headers[name] ?? ""));
  return [...values, password, key, path, decodeURIComponent(path)].map(escapedForms).join("\n");
}

type Reply = object | ((request: ReceivedRequest, echo: string) => object);

/**
 * @param reply members of the answer to a call; or of the HTTP answer: `status`, `text`, `before`
 * @param isAtOnce whether all requests are answered so
 */
export async function startEchoes(era: "session" | "stateless", reply: Reply, isAtOnce = false) {
  const echoed: string[] = [];
  const server = await startHttpServer((request, response) => {
    const { method, message } = request;
    if (method !== "POST" || message.id === undefined) {
      return void response.writeHead(method === "POST" ? 202 : 405).end();
    }
    const give = (answer: object, headers = {}) =>
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, ...answer }, headers);
    const complete = era === "stateless" && { resultType: "complete" };
    const capabilities = { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
    switch (isAtOnce || message.method) {
      case "server/discover": {
        const error = { code: -32601, message: "Method not found" };
        if (era === "session") return give({ error });
        const supportedVersions = ["2026-07-28"];
        return give({ result: { ...complete, supportedVersions, capabilities } });
      }
      case "initialize": {
        const serverInfo = { name: "echoes", version: "1.0.0" };
        const protocolVersion = "2025-11-25";
        response.setHeader("mcp-session-id", "canary-session");
        return give({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
      }
      // It knows its session: what it refuses is the call's own matter.
      case "ping":
        return give({ result: {} });
      case "tools/list": {
        const schema = { type: "object", properties: { key: { type: "string" } } };
        return give({ result: { ...complete, tools: [{ name: "echo", inputSchema: schema }] } });
      }
      default: {
        const echo = echoOf(request);
        echoed.push(echo);
        const given = typeof reply === "function" ? reply(request, echo) : reply;
        const { status, text, before, ...answer } = given as Record<string, any>;
        if (status) return void response.writeHead(status).end(text);
        const whole = answer["result"] && { result: { ...complete, ...answer["result"] } };
        if (!before) return give({ ...answer, ...whole });
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const each of [...before, { id: message.id, ...answer, ...whole }]) {
          response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`);
        }
        response.end();
      }
    }
  });
  const query = new URLSearchParams({ api_key: secretOf("query"), page: "1" });
  const url = `${server.origin}/s/${encodeURIComponent(secretOf("path"))}/mcp?${query}`;
  return { url, echoed };
}

let proofs = 0;
/** Each request has a proof of its own. */
const prove = async () => {
  const header = `${secretOf("proof").replace(" ", "")}${(proofs += 1)}`;
  return { header, takeNonce: async () => false };
};

export function optionsOf(url: string, era: "session" | "stateless") {
  return {
    ...{ url, description: "Echoes." },
    session: era === "session" ? ("stateful" as const) : ("stateless" as const),
    auth: { getToken: () => ({ token: secretOf("token").replace(" ", ""), dpop: { prove } }) },
    headers: {
      "x-header": secretOf("header"),
      "x-function": () => secretOf("function"),
      "x-basic": `Basic ${basic}`,
    },
    providedArguments: { key: () => secretOf("provided") },
  };
}

export const failedWith = (echo: string) => ({
  result: {
    ...{ isError: true, content: [{ type: "text", text: echo }] },
    structuredContent: { [echo]: [echo] },
  },
});
const log = (echo: string) => ({
  method: "notifications/message",
  params: { level: "error", data: { [echo]: echo } },
});

/** How a call fails; what is then seen is all that the application, its model and its operators get. */
export const answers: [string, (request: ReceivedRequest, echo: string) => object][] = [
  ["an HTTP refusal", (_, text) => ({ status: 400, text })],
  ["a refusal of the credentials", (_, text) => ({ status: 403, text })],
  ["a failure of the server", (_, text) => ({ status: 500, text })],
  [
    "a refusal in JSON",
    ({ message }, echo) => ({
      status: 400,
      text: JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: 1, message: echo } }),
    }),
  ],
  ["a JSON-RPC error", (_, echo) => ({ error: { code: -32000, message: echo, data: [echo] } })],
  ["a result with isError", (_, echo) => failedWith(echo)],
  ["a result with isError, on a stream", (_, echo) => ({ ...failedWith(echo), before: [] })],
  // A connection without a slot has no such event.
  ["a notification", (_, echo) => ({ ...failedWith("no"), before: [log(echo)] })],
  [
    "progress",
    ({ message }, echo) => {
      const { progressToken } = message.params["_meta"] ?? {};
      const params = { progressToken, progress: 1, message: echo };
      return { ...failedWith("no"), before: [{ method: "notifications/progress", params }] };
    },
  ],
];
