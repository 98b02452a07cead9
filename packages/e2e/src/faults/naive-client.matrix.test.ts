import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { createOAuth } from "@durable-mcp/oauth";
import { createFaultyServer, type FaultyServer } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { principal } from "../durable/notebook-sessions.ts";
import { createNaiveClient } from "./naive-client.ts";

const use = { principal };
const order = ({ item }: { item: string }) => `Ordered ${item}.`;

async function startShop(options: Partial<Parameters<typeof createFaultyServer>[0]> = {}) {
  const server = await createFaultyServer({ tools: { order }, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** An agent whose orders are steps of their own. */
function createDurableClient(
  { url }: FaultyServer,
  options: Partial<McpClientConnectionOptions> = {},
) {
  const store = createMemoryStore();
  const shop = defineMcpClientConnection({
    ...{ url, description: "A shop.", session: "stateful" },
    timeouts: { connectMs: 2_000, callMs: 1_000 },
    ...(options.waiting === undefined && {
      onElicitation: () => ({ action: "accept", content: { yes: true } }),
    }),
    ...options,
  });
  const newSessions = () =>
    createDurableSessions({ connections: { shop }, store, onEvent: () => {} });
  return {
    newSessions,
    order: (item: string) =>
      newSessions().run("chat", use, async (run) => {
        const names = Object.keys(await run.tools());
        const name = names.includes("shop__order_now") ? "order_now" : "order";
        return textOf(await run.call("shop", name, { item }));
      }),
  };
}

const textOf = (result: unknown) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join("\n");

/** What is wrong with an order: it is to be answered, or to be told with a code, and it is never made twice. */
async function problemOf(
  client: { order: (item: string) => Promise<string> },
  { ledger }: FaultyServer,
  expected: "answered" | "told",
): Promise<string | undefined> {
  const [outcome] = await Promise.allSettled([client.order("tea")]);
  const done = ledger.filter(({ input }) => input.item === "tea").length;
  if (done > 1) return `done ${done} times`;
  if (outcome.status === "fulfilled") {
    if (expected === "told") return `answered, though nobody knows: ${outcome.value}`;
    return outcome.value.includes("Ordered tea.") && done === 1 ? undefined : outcome.value;
  }
  const { code } = outcome.reason as { code?: unknown };
  if (expected === "answered") return `not answered: ${String(outcome.reason)}`;
  return typeof code === "string" ? undefined : `nobody is told whether: ${String(outcome.reason)}`;
}

type Client = ReturnType<typeof createNaiveClient | typeof createDurableClient>;
type Row = [string, (server: FaultyServer, client: Client) => unknown, "answered" | "told"];

const rows: Row[] = [
  ...(
    [
      "not-found",
      "not-found-text",
      "no-valid-session-id",
      "not-initialized",
      "header-required",
    ] as const
  ).map((dialect): Row => [
    `forgets its sessions (${dialect})`,
    (server) => server.forgetSessions({ dialect }),
    "answered",
  ]),
  ["restarts", (server) => server.restart(), "answered"],
  ["is down", (server) => server.down(), "told"],
  ["hangs", (server) => server.hang(), "told"],
  ["hangs, the call carried out", (server) => server.hang({ carriedOut: true }), "told"],
  ["is slow", (server) => server.delay(600), "answered"],
  ["is refused by a gateway", (server) => server.refuse(502), "told"],
  [
    "is refused by a gateway, the call carried out",
    (server) => server.refuse(504, { carriedOut: true }),
    "told",
  ],
  ["resets, the call carried out", (server) => server.reset({ carriedOut: true }), "told"],
  ["cuts its streams", (server) => server.cutStreams(), "told"],
  ["ends its streams early", (server) => server.cutStreams({ quietly: true }), "told"],
  ["splits its streams", (server) => server.splitStreams(), "answered"],
  ...(["html", "cut-json", "other-id", "no-json-rpc", "empty"] as const).map((kind): Row => [
    `answers malformed (${kind})`,
    (server) => server.answerMalformed(kind),
    "told",
  ]),
  ["changes its era", (server) => server.setEra("2026-07-28"), "answered"],
  [
    "changes its tools",
    async (server, client) => {
      server.setTools({ order_now: order });
      // Which step sees it first, and which only then, is not this row's question.
      await client.order("milk").catch(() => undefined);
    },
    "answered",
  ],
  [
    "asks on the open stream",
    (server) =>
      server.ask("order", [{ sure: { message: "Sure?", form: { yes: { type: "boolean" } } } }]),
    "answered",
  ],
];

describe("a server that", () => {
  test.each(rows)("%s turns a naive client red, and no agent", async (_, act, expected) => {
    const problems = [];
    for (const create of [createNaiveClient, createDurableClient]) {
      const server = await startShop();
      const client: Client = create(server);
      await client.order("milk");
      await act(server, client);
      problems.push(await problemOf(client, server, expected));
    }
    expect(problems).toEqual([expect.any(String), undefined]);
  });

  test("asks with input_required turns a naive client red, and no agent", async () => {
    const rounds = [
      { sure: { message: "Sure?", form: { yes: { type: "boolean" } } } },
      { pay: { message: "Pay first.", url: "https://pay.example/tea" } },
    ];
    const naive = await startShop({ era: "2026-07-28" });
    naive.ask("order", rounds);
    expect(await problemOf(createNaiveClient(naive), naive, "answered")).toBeDefined();

    const server = await startShop({ era: "2026-07-28" });
    server.ask("order", rounds);
    const { newSessions } = createDurableClient(server, { session: "stateless", waiting: true });
    await newSessions().run("chat", use, (run) => run.call("shop", "order", { item: "tea" }));
    const states = [];
    for (const responses of [
      { sure: { action: "accept", content: { yes: true } } },
      { pay: { action: "accept" } },
    ] as const) {
      const [call] = await newSessions().waiting("chat", use);
      states.push((await newSessions().answer("chat", call!.id!, responses, use)).state);
    }
    expect(states).toEqual(["waiting", "settled"]);
    expect(server.ledger).toEqual([
      { tool: "order", input: { item: "tea" }, answers: { sure: { yes: true }, pay: {} } },
    ]);
  });

  test("wants a sign-in turns a naive client red, and no agent", async () => {
    const naive = await startShop();
    const signIn = naive.requireSignIn();
    const tokens = await signInByHand(naive, signIn);
    const clients = [1, 2].map(() => createNaiveClient(naive));
    for (const client of clients) client.useToken(tokens);
    signIn.expireAccessTokens();
    const refreshed = await Promise.allSettled(clients.map((client) => client.refresh()));
    expect(refreshed.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(signIn.counts).toMatchObject({ refreshes: 2, reuses: 1 });
    const orders = await Promise.allSettled(clients.map((client) => client.order("tea")));
    expect(orders.map(({ status }) => status)).toEqual(["rejected", "rejected"]);

    const server = await startShop();
    const own = server.requireSignIn();
    const store = createMemoryStore();
    const keys = { current: new Uint8Array(32) };
    const auths = [1, 2].map(() =>
      createOAuth({ store, keys, redirectUrl: "http://localhost:3000/oauth/callback" }),
    );
    const start = new Request("http://localhost:3000/oauth/start");
    const begun = await auths[0]!.start(start, { ...use, connection: "shop", url: server.url });
    const callback = own.consent(begun.headers.get("location")!);
    await auths[0]!.callback(new Request(callback), use);
    own.expireAccessTokens();
    const agents = auths.map((auth) => createDurableClient(server, { auth }));
    await Promise.all(agents.map((agent, index) => agent.order(`tea ${index}`)));
    expect(own.counts).toMatchObject({ refreshes: 1, reuses: 0 });
    expect(server.ledger).toHaveLength(2);
  });
});

/** Tokens as a client gets them that does all by hand. */
async function signInByHand(
  { origin }: FaultyServer,
  signIn: ReturnType<FaultyServer["requireSignIn"]>,
) {
  const verifier = "a verifier that nobody has to guess, of 43 letters";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const asked = {
    client_id: "client-1",
    redirect_uri: "http://localhost:3000/callback",
    code_challenge: Buffer.from(digest).toString("base64url"),
  };
  const { searchParams } = signIn.consent(
    `${origin}/authorize?${String(new URLSearchParams(asked))}`,
  );
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code: searchParams.get("code")!,
    code_verifier: verifier,
    redirect_uri: asked.redirect_uri,
  });
  const response = await fetch(`${origin}/token`, { method: "POST", body });
  return (await response.json()) as { access_token: string; refresh_token: string };
}
