// A chat in which a session is open, a question waits, and a sign-in; and who has it.
import {
  createChatRoute,
  createConnectionProvider,
  createDurableAgent,
  createDurableSessions,
  createPrincipals,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { createOAuth } from "@durable-mcp/oauth";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { ToolLoopAgent } from "ai";
import type { Given, Makers } from "./world.ts";
import { load } from "./load.ts";
import { model } from "./model.ts";

const chatId = "chat 1";
const prompt = "Look at the page.";
const { user } = createPrincipals({ issuer: "https://idp.example" });
const principal = user("42");
export const secret = Buffer.alloc(32, 7).toString("base64");
const keys = { current: secret };
const redirectUrl = "https://app.example/oauth/callback";

const define = (url: string, options: object) =>
  defineMcpClientConnection({ url, description: "A server.", ...options });

export function agentsGiven({ take, world }: Given): Makers {
  const waitingOf = async (wanted: string) => {
    const entries = await (await take("sessions")).waiting(chatId, { principal });
    const found = entries.find(({ type }: any) => type === wanted);
    if (found === undefined) throw new Error(`No ${wanted} waits.`);
    return found;
  };
  return {
    ...{ chatId: () => chatId, prompt: () => prompt, model: () => model, keys: () => keys },
    ...{ principal: () => principal, user: () => user, "Principal>": () => async () => principal },
    "() => Principal": () => () => principal,
    store: () => createSqliteStore({ path: "given.db" }),
    database: async () => await take("store"),
    oauth: async () => createOAuth({ store: await take("store"), keys, redirectUrl }),
    async connections() {
      const open = define(world.open.url, { session: "stateful" });
      const shop = define(world.asking.url, { waiting: true });
      const linear = define(world.locked.url, { auth: await take("oauth") });
      return { browser: open, notes: open, cart: open, shop, linear };
    },
    shop: async () => (await take("connections")).shop,
    async provider() {
      const { browser } = await take("connections");
      return createConnectionProvider({ connections: { browser } });
    },
    sessions: async () => await openChat(await take("connections"), await take("store")),
    async agent() {
      await take("sessions");
      const [connections, store] = [await take("connections"), await take("store")];
      const experimental_toolApprovalSecret = secret;
      return createDurableAgent({ connections, store, model, experimental_toolApprovalSecret });
    },
    chat: async () => createChatRoute({ agent: await take("agent"), principal: () => principal }),
    ToolLoopAgent: async () =>
      new ToolLoopAgent({ model, tools: await (await take("run")).tools() }),
    run: async () => await (await take("sessions")).open(chatId, { principal }),
    question: async () => await waitingOf("question"),
    async signInPath() {
      const { pathname, search } = new URL((await waitingOf("sign-in")).startUrl);
      return pathname + search;
    },
    async steps() {
      const { createConnectionSteps } = await load("@durable-mcp/workflow/steps");
      const { cart } = await take("connections");
      return createConnectionSteps({ connections: { cart }, keys });
    },
  };
}

async function openChat(connections: any, store: any) {
  const onEvent = { every: () => undefined };
  const sessions = createDurableSessions({ connections, store, onEvent });
  await sessions.run(chatId, { principal }, async (run) => {
    await run.call("browser", "browser_navigate", { url: "https://page.example" });
    const tools: any = await run.tools();
    await tools["shop__order"].execute(
      { item: "tea" },
      { toolCallId: "call-1", messages: [], context: {} },
    );
  });
  return sessions;
}
