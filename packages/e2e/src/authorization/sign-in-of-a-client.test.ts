import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMCPClient } from "@ai-sdk/mcp";
import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { createOAuth } from "@durable-mcp/oauth";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, expect, test } from "vitest";

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response.setHeader("content-type", "application/json"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const about = { name: "e2e", version: "1.0.0" };
type Provider = ReturnType<ReturnType<typeof createOAuth>["connect"]>["authProvider"];
const clients: Record<string, (url: string, authProvider: Provider) => Promise<unknown>> = {
  "@ai-sdk/mcp 2": (url, authProvider) =>
    createMCPClient({ transport: { type: "http", url, authProvider } }),
  "SDK v1": (url, authProvider) =>
    new Client1(about).connect(new Transport1(new URL(url), { authProvider })),
  "client v2": (url, authProvider) =>
    new Client2(about).connect(new Transport2(new URL(url), { authProvider })),
  "client v2 (auto)": (url, authProvider) =>
    new Client2(about, { versionNegotiation: { mode: "auto" } }).connect(
      new Transport2(new URL(url), { authProvider }),
    ),
};

test.for(Object.entries(clients))(
  "%s: a client that has only the authProvider begins no sign-in of its own",
  async ([, connect]) => {
    const issuer = await serve((_, response) => response.writeHead(500).end("{}"));
    const server = await serve((request, response) => {
      if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
        const metadata = { resource: url, authorization_servers: [issuer.origin] };
        return response.end(JSON.stringify(metadata));
      }
      const metadataUrl = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
      const challenge = `Bearer resource_metadata="${metadataUrl}"`;
      return response.writeHead(401, { "www-authenticate": challenge }).end("{}");
    });
    const url = `${server.origin}/mcp`;
    const oauth = createOAuth({
      store: createMemoryStore(),
      keys: "store tokens unencrypted",
      redirectUrl: "http://127.0.0.1:3999/oauth/callback",
    });
    const principal = { type: "user", issuer: "https://app.example", id: "ada" } as const;
    const { authProvider } = oauth.connect({ principal, url, connection: "notes" });

    const error = await connect(url, authProvider).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(sessionErrorIn(error)).toMatchObject({
      code: "AUTHORIZATION_REQUIRED",
      data: { startUrl: expect.stringContaining("/oauth/start?connection=notes") },
    });
    // Neither asked nor told anything: the server could have named any address.
    expect(issuer.requests).toEqual([]);
  },
);

function sessionErrorIn(error: unknown): McpSessionError | undefined {
  let cause = error;
  while (cause instanceof Error && !McpSessionError.isInstance(cause)) ({ cause } = cause);
  return McpSessionError.isInstance(cause) ? cause : undefined;
}
