/**
 * `oidc-provider` on `--port`, with a control endpoint for tests on `--control-port`. `--options` is JSON. Says where
 * both are, in a line of JSON.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { createProvider } from "./create-provider.ts";
import { createJournal, kindOf } from "./journal.ts";
import type { AuthorizationServerOptions, Commands } from "./protocol.ts";
import { createTokenFaults, meetFault } from "./token-faults.ts";
import { createTokenStore } from "./token-store.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    "control-port": { type: "string", default: "0" },
    options: { type: "string", default: "{}" },
  },
});
const options = JSON.parse(values.options) as AuthorizationServerOptions;
const issuer = `http://127.0.0.1:${values.port}`;

const store = createTokenStore({ isForgiving: options.refreshTokenUse === "grace" });
const provider = createProvider(issuer, options, store);
const journal = createJournal(provider);
const faults = createTokenFaults();
const serveProvider = provider.callback();

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const kind = kindOf(request);
  if (kind === undefined) return serveProvider(request, response);
  const query = request.url?.split("?")[1];
  const isForm = kind !== "registration" && request.method === "POST";
  const body = isForm ? await text(request) : undefined;
  const parameters = new URLSearchParams(body ?? query);
  const plan = kind === "token" ? faults.take(parameters.get("grant_type")) : undefined;
  const entry = journal.record(request, kind, parameters, plan?.fault);
  response.once("close", () => (entry.status = response.statusCode));
  // oidc-provider takes the body from here when the stream has been read.
  if (body !== undefined) Object.assign(request, { body: asObject(parameters) });
  if (plan) meetFault(plan, request, response);
  await serveProvider(request, response);
}

function asObject(parameters: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const all = parameters.getAll(name);
      return [name, all.length > 1 ? all : all[0]!];
    }),
  );
}

const commands: { [NAME in keyof Commands]: (command: Commands[NAME]) => unknown } = {
  journal: () => journal.entries,
  "clear-journal": () => void journal.entries.splice(0),
  "fail-token-requests": (plan) => faults.plan(plan),
  "expire-access-tokens": () => store.expireAccessTokens(),
  "revoke-grants": ({ account }) => {
    const revoked = { kind: "grant-revoked", by: "control" } as const;
    for (let left = store.revokeGrants(account); left > 0; left -= 1) journal.entries.push(revoked);
  },
};

async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = request.url?.slice(1) ?? "";
  if (!Object.hasOwn(commands, name)) return void response.writeHead(404).end();
  const carryOut = commands[name as keyof Commands] as (command: unknown) => unknown;
  const result = carryOut(JSON.parse(await text(request)));
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify(result ?? null));
}

function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  port: string,
): Promise<void> {
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  return new Promise((resolve) => {
    server.listen(Number(port), "127.0.0.1", resolve);
  });
}

// The control first: whoever waits for the issuer finds both.
await listen(control, values["control-port"]);
await listen(serve, values.port);
console.log(JSON.stringify({ url: issuer, control: `http://127.0.0.1:${values["control-port"]}` }));
