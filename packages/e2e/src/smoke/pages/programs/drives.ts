// What it means to run what a block defines, by its shape. A program has run when its process has done its work; what it
// only defines is used here: routes are called, agents asked, servers called, components rendered.
import { randomUUID } from "node:crypto";
import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { callServer, check, readToEnd } from "./call-server.ts";
import type { Given } from "./world.ts";
import { renderChat } from "./render.ts";

const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;

/** Uses one value of a block; `undefined` if there is nothing to do with it. */
export function driveOf(
  name: string,
  value: any,
  given: Given,
): (() => Promise<unknown>) | undefined {
  if (name in byName) return async () => await byName[name]!(value, given);
  const shape = shapes.find(([is]) => value !== null && value !== undefined && is(value, name));
  return shape && (async () => await shape[1](value, given, name));
}

const isFunction = (value: unknown): value is Function => typeof value === "function";
const has =
  (...names: string[]) =>
  (value: any) =>
    names.every((name) => isFunction(value[name]));

/** A method of HTTP, or a function that takes a request. */
const isRoute = (value: unknown, name: string) =>
  isFunction(value) &&
  (/^(GET|POST|DELETE)$/.test(name) || /^(async )?function \w+\(request\b/.test(String(value)));

type Use = (value: any, given: Given, name: string) => unknown;
const shapes: readonly (readonly [(value: any, name: string) => boolean, Use])[] = [
  // A handler of a server is a function as well.
  [has("drain", "sweep"), callHandler],
  [has("generate", "stream"), useAgent],
  [has("run", "waiting", "admin"), useSessions],
  [has("create", "commit"), (provider) => provider.run({ session: {}, principal }, useTools)],
  [has("handler", "signOut"), useSignIn],
  [has("sessions", "call", "waiting"), useSteps],
  [has("get", "put", "batch"), useStore],
  [({ type }) => /^mcp-(client|stdio)$/.test(type), useConnection],
  [(value, name) => isFunction(value) && /^[A-Z][a-z]/.test(name), renderChat],
  [isRoute, callRoute],
  [has("GET", "POST", "DELETE"), callMethods],
  [(value) => isFunction(value) && value.length === 0, useResult],
];

/** Functions that are no routes: with what they take. */
const byName: Record<string, (value: any, given: Given) => unknown> = {
  // Of core with a snapshot, of LangChain with a chat, of a page with its messages.
  step: async (step, { take }) => {
    const [first] = /\((\w+)/.exec(String(step))!.slice(1);
    if (first === "saved") {
      let saved: unknown;
      await step(undefined, async (snapshot: unknown) => void (saved = snapshot));
      return await step(saved, async () => undefined);
    }
    if (/, saved\b/.test(String(step))) return undefined;
    if (step.length === 2) return await step("chat 2", [{ role: "user", content: "Order tea." }]);
    return await step("chat 2", await take("principal"), {
      messages: [{ role: "user", content: "Hi" }],
    });
  },
  // Of OpenAI Agents: two turns, of which the second has the history of the first.
  turn: async (turn) => {
    const { saved, text } = await turn("chat 2", undefined, "Order tea.");
    const next = await turn("chat 2", saved, "And?");
    check([text, next.text].join() === "Done.,Done.", `it says ${text}, ${next.text}`);
  },
  withTools: async (withTools) => {
    const run = { chatId: "chat 2", principal };
    const { result, sealed } = await withTools(run, undefined, countTools);
    check(result > 0, "no tools");
    return await withTools(run, sealed, countTools);
  },
  beginOnce: async (beginOnce) => {
    const marks = createMemoryStore();
    const begun = [await beginOnce(marks, ["run", "1"]), await beginOnce(marks, ["run", "1"])];
    check(begun.join() === "true,false", `begun: ${begun.join()}`);
  },
  ownerOf: (ownerOf) => {
    const auth = { current: { authenticator: "idp", principalId: "42", principalType: "user" } };
    check(ownerOf({ id: "1", auth }).principal.id === "42", "another owner");
  },
  mcpSessions: async (mcpSessions, given) =>
    mcpSessions.length === 0 ? await useResult(mcpSessions, given) : await mcpSessions(openRequest),
  // Only a run of the engine has a question.
  answerQuestion: async (answerQuestion) => {
    const init = { method: "POST", body: JSON.stringify({ id: "1", round: 1, responses: {} }) };
    const answered = answerQuestion(new Request("https://app.example/api", init), "run 1");
    const error = await answered.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    check(McpSessionError.isInstance(error), `it says ${String(error)}`);
  },
  // Only Neon's endpoint answers it.
  onNeon: () => undefined,
  mcpCall: async (mcpCall) =>
    check(isFunction(mcpCall) && mcpCall.maxRetries === 0, "it is repeated"),
};

const countTools = async (tools: object) => Object.keys(tools).length;

const openRequest = {
  ...{ kind: "open", connections: ["cart"], principal, sessionId: "chat 1", slots: {} },
  onUnavailable: "throw",
};

async function useTools(run: any) {
  const tools = Object.keys(await run.tools({ onUnavailable: "throw" }));
  check(tools.length > 0, "no tools");
}

async function useSessions(sessions: any) {
  await sessions.run("chat 2", { principal }, async (run: any) =>
    // Only AI SDK's runs have tools.
    run.tools ? await run.tools() : await run.instructions(),
  );
}

async function useAgent(agent: any, { take }: Given) {
  if (agent.sessions === undefined) return;
  const options = { sessionId: "chat 3", principal: await take("principal") };
  const { text } = await agent.generate({ prompt: "Look at the page.", options });
  check(text === "Done.", `it says ${text}`);
}

/** A definition alone: an agent session uses it. */
async function useConnection(connection: any) {
  const store = createMemoryStore();
  const sessions = createDurableSessions({
    connections: { connection },
    store,
    onEvent: { every() {} },
  });
  await sessions.run("chat 2", { principal }, async (run) => {
    // Of a server that nobody has signed in to, the one that says so. Clients of other packages make none of AI SDK.
    const tools = Object.keys(await run.tools());
    const listed = async () => (await (await run.client("connection")).listTools()).tools;
    check(tools.length > 0 || (await listed()).length > 0, "no tools");
  });
}

async function useSteps(steps: any) {
  const { cart } = await steps.sessions(openRequest);
  check(cart.tools.length > 0, "no tools");
}

async function useStore(store: any, { code }: Given) {
  if (code.includes(".close()")) return;
  await store.createTables?.();
  const key = randomUUID();
  const { ok } = await store.put(key, { step: 1 }, null, { owner: "drive" });
  check(ok && (await store.get(key)).value.step === 1, "the store does not keep it");
}

async function useSignIn(oauth: any, { world }: Given) {
  const request = new Request("https://app.example/oauth/start");
  const response = await oauth.handler(request, {
    principal,
    connection: "linear",
    url: world.locked.url,
  });
  check(response.status < 400, `HTTP ${response.status}: ${await response.text()}`);
}

async function useResult(act: any, given: Given) {
  const result = await act();
  if (result instanceof Response) return await readToEnd(result);
  const drive = driveOf("result", result, given);
  return drive && (await drive());
}

async function callRoute(route: any, { take, code }: Given, name: string) {
  if (code.includes("createGateway")) {
    const throughRoute = (url: string | URL, init: RequestInit) => route(new Request(url, init));
    return await callServer("https://app.example/api/mcp/shop", throughRoute);
  }
  const isRead = /^(GET|DELETE|look|list)/.test(name);
  const { id: call, round } = name.startsWith("answer") ? await take("question") : ({} as any);
  const parts = [{ type: "text", text: "Look at the page." }];
  const responses = { confirm: { action: "accept", content: { ok: true } } };
  const message = { id: "1", role: "user", parts };
  const own = code.includes("createChatRoute")
    ? {}
    : { id: "chat 1", chatId: "chat 1", text: "Look." };
  const body = {
    ...{ ...own, message },
    ...{ call, round, responses },
  };
  const path = String(route).includes("oauth.handler") ? await take("signInPath") : "/api/chat/1";
  const request = new Request(`https://app.example${path}`, {
    method: name === "DELETE" ? name : isRead ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${process.env["CRON_SECRET"]}`,
      "content-type": "application/json",
    },
    ...(isRead ? {} : { body: JSON.stringify(body) }),
  });
  const takesParams = /\{\s*params\s*\}/.test(String(route));
  await readToEnd(
    await route(request, takesParams ? { params: Promise.resolve({ id: "chat 1" }) } : "chat 1"),
  );
}

async function callMethods(route: any, given: Given) {
  for (const method of ["GET", "POST", "DELETE"]) await callRoute(route[method], given, method);
}

async function callHandler(handler: any, { code }: Given) {
  const host = /allowedHosts: \["([^"]+)/.exec(code)?.[1] ?? "127.0.0.1";
  await callServer(
    `http://${host}/mcp`,
    async (input: any, init?: RequestInit) => await handler(new Request(input, init)),
  );
}
