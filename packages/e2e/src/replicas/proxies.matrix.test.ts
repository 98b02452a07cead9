import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../server/test/listen.ts";
import { findProgram } from "../../../stores/test/find-program.ts";
import { findFreePort, killServer, startServer } from "../../../stores/test/start-server.ts";

// A quiet upstream is cut after 2 seconds, where the proxy can do that.
const proxies = {
  nginx: (port: number, upstream: number, folder: string) => ({
    file: `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/log;
events {}
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
server { listen 127.0.0.1:${port}; location / {
proxy_pass http://127.0.0.1:${upstream}; proxy_http_version 1.1; proxy_set_header Connection "";
proxy_read_timeout 2s; } } }`,
    args: ["-c", `${folder}/config`, "-p", folder],
  }),
  haproxy: (port: number, upstream: number, folder: string) => ({
    file: `defaults
  mode http
  timeout connect 2s
  timeout client 2s
  timeout server 2s
listen all
  bind 127.0.0.1:${port}
  server one 127.0.0.1:${upstream}
`,
    args: ["-db", "-f", `${folder}/config`],
  }),
  caddy: (port: number, upstream: number, folder: string) => ({
    file: `{
  admin off
  auto_https off
  storage file_system ${folder}
}
http://127.0.0.1:${port} {
  reverse_proxy 127.0.0.1:${upstream}
}
`,
    args: ["run", "--config", `${folder}/config`, "--adapter", "caddyfile"],
  }),
};

const found = Object.entries(proxies).map(
  ([name, configure]) => [name, findProgram(name, ["/usr/sbin"]), configure] as const,
);

async function pay(url: string, session: "stateful" | "stateless"): Promise<unknown> {
  const shop = defineMcpClientConnection({ url, description: "A shop.", session });
  const provider = createConnectionProvider({ connections: { shop } });
  const run = provider.create({ state: undefined, principal: { type: "anonymous" } });
  onTestFinished(() => run.dispose());
  const tools = await run.tools();
  const options = { toolCallId: "1", messages: [], context: {} } as never;
  return await Promise.resolve(tools["shop__pay"]!.execute!({}, options)).catch(
    (error: unknown) => error,
  );
}

describe.each(found)("behind %s", (_, program, configure) => {
  async function start(upstreamUrl: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-proxy-"));
    chmodSync(folder, 0o777);
    const port = await findFreePort();
    const { file, args } = configure(port, Number(new URL(upstreamUrl).port), folder);
    writeFileSync(join(folder, "config"), file);
    const env = { ...process.env, HOME: folder };
    const child = await startServer(program!, args, port, { cwd: folder, env });
    onTestFinished(async () => {
      await killServer(child);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    return `http://127.0.0.1:${port}/mcp`;
  }

  const modes = ["stateful", "stateless"] as const;

  test.skipIf(program === undefined).each(modes)(
    "a quiet call outlasts the proxy's limit, and runs once (%s)",
    async (session) => {
      let runs = 0;
      const handler = createSessionHandler({
        principal: "none",
        timeouts: { keepAliveMs: 500 },
        createServer: () => {
          const mcp = new McpServer({ name: "paying", version: "1.0.0" });
          mcp.registerTool("pay", {}, async () => {
            runs += 1;
            await new Promise((resolve) => setTimeout(resolve, 4_000));
            return { content: [{ type: "text", text: "paid" }] };
          });
          return mcp;
        },
      });
      const server = await listen(toNodeHandler(handler));
      onTestFinished(() => server[Symbol.asyncDispose]());
      const result = await pay(await start(server.url), session);
      expect(result).toMatchObject({ content: [{ text: "paid" }] });
      expect(runs).toBe(1);
    },
  );

  test.skipIf(program === undefined).each(modes)(
    "a call whose connection closes without an answer arrives once, and nobody is told that it was not done (%s)",
    async (session) => {
      let calls = 0;
      const tool = { name: "pay", inputSchema: { type: "object" } };
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "cutting", version: "1" },
        },
        "tools/list": { tools: [tool] },
      };
      const server = await listen(
        createServer((request, response) => {
          void text(request).then((body) => {
            if (request.method !== "POST") return response.writeHead(405).end();
            const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
            if (method === "tools/call" && (calls += 1) > 0) return request.socket.end();
            const result = results[method];
            if (id !== undefined && !result) return response.writeHead(400).end();
            if (id === undefined) return response.writeHead(202).end();
            return response
              .writeHead(200, { "content-type": "application/json", "mcp-session-id": "s-1" })
              .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
          });
        }).listeners("request")[0] as never,
      );
      onTestFinished(() => server[Symbol.asyncDispose]());
      const error = (await pay(await start(server.url), session)) as Error;
      expect(error.message).toMatch(/unknown; check before/);
      expect(calls).toBe(1);
    },
  );
});
