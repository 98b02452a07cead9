// What an application has around its agent: a login, tables, settings, a page.
import type { Given, Makers } from "./world.ts";
import { secret } from "./given-agents.ts";
import { awslambda } from "./lambda.ts";
import { load } from "./load.ts";
import { model } from "./model.ts";

const tokens = ["tokenOf", "tenantOf", "tokenFor", "workspaceOf", "sweepToken", "idTokenOf"];
const nothing = () => async () => undefined;

/** The id that was shown last, with which the page goes on. */
let shownId: string | undefined;
Object.defineProperty(globalThis, "interruptId", { get: () => shownId });

export function applicationGiven({ take, world }: Given): Makers {
  const stored = new Map<string, unknown>();
  return {
    ...{ signedIn: () => async () => "42", signedInUser: () => async () => "42" },
    userIdOf: () => async () => "42",
    ...{ login: () => ({ userId: "42" }), token: () => "token", url: () => world.open.url },
    ...Object.fromEntries(tokens.map((name) => [name, () => async () => `${name}-42`])),
    ...{ fingerprintKey: () => secret, clientSecret: () => "secret", idpSecret: () => "secret" },
    env: () => ({
      SEALING_KEY: secret,
      FINGERPRINT_KEY: Buffer.alloc(32, 8).toString("base64"),
    }),
    chats: () => ({
      read: async (...chat: string[]) => stored.get(JSON.stringify(chat)) ?? [],
      write: async (...chat: unknown[]) =>
        void stored.set(JSON.stringify(chat.slice(0, -1)), chat.at(-1)),
    }),
    table: () => ({ read: async () => [], replace: async () => undefined }),
    ...{ loadChat: () => async () => ({}), saveChat: nothing, saved: () => undefined },
    ...{ save: nothing, startStep: nothing, answer: nothing, insertClaim: () => async () => 1 },
    cookies: () => ({ get: () => undefined, set: () => undefined, delete: () => undefined }),
    ...{ options: () => ({ model, prompt: "Look." }), waitUntil: () => () => undefined },
    messages: () => [{ role: "user", content: "Order tea." }],
    request: () => new Request("https://app.example/oauth/start?connection=linear"),
    askPerson: () => async () => ({ confirm: { action: "accept", content: { ok: true } } }),
    ...{ showButton: () => console.log, show: () => (id: string) => void (shownId = id) },
    checkpointer: async () => new (await load("@langchain/langgraph")).MemorySaver(),
    turnOf: () => async () => ({
      ...{ chatId: "chat 1", principal: await take("principal") },
      messages: [{ role: "user", content: "Look at the page." }],
    }),
    awslambda: () => awslambda,
    async stack() {
      const cdk = await load("aws-cdk-lib");
      return new cdk.Stack(new cdk.App(), "Stack");
    },
  };
}
