import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createOAuth } from "@durable-mcp/oauth";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { StepContext } from "@durable-mcp/testing";

export const user = { type: "user", issuer: "https://app.example", id: "ada" } as const;

export interface Places {
  readonly url: string;
  readonly path: string;
  /** Whether the shop's questions wait. @default false */
  readonly asks?: boolean;
}

/** The sessions of an agent with a shop, as each of its processes makes them. */
export function connectShop({ url, path, asks }: Places, context: Partial<StepContext> = {}) {
  const { fetch, now, watch = (store) => store } = context;
  const opened = createSqliteStore({ path, now });
  const store = watch(opened);
  const keys = { current: new Uint8Array(32).fill(7) };
  const redirectUrl = "http://localhost:3000/oauth/callback";
  const oauth = createOAuth({ store, keys, redirectUrl, fetch, now });
  const session = asks ? ({ waiting: true } as const) : ({ session: "stateful" } as const);
  const shop = defineMcpClientConnection({
    url,
    description: "A shop.",
    auth: oauth,
    fetch,
    ...session,
  });
  const sessions = createDurableSessions({ connections: { shop }, store, onEvent: () => {}, now });
  return { oauth, sessions, close: () => opened.close() };
}
