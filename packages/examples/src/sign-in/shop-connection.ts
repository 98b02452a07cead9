import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createOAuth } from "@durable-mcp/oauth";
import { openStore } from "../programs/open-store.ts";

/** Where everything is. The same for the agent's steps and for the application's pages. */
export interface Places {
  /** The MCP server. */
  shopUrl: string;
  /** The application's pages. */
  appUrl: string;
  /** A SQLite file, or the URL of a PostgreSQL or Redis server; a JSON file with the AI SDK alone. */
  store: string;
  chatId: string;
}

/** The user, as the application's login names them. */
export const userOf = (id: string) =>
  ({ type: "user", issuer: "https://tea.example", id }) as const;

/** The same connection in each process. Tokens and waiting calls are in the store. */
export async function connectShop({ shopUrl, appUrl, store: place }: Places) {
  const { store, close } = await openStore(place);
  const oauth = createOAuth({
    store,
    keys: { current: process.env["SEALING_KEY"] ?? "" },
    redirectUrl: `${appUrl}/oauth/callback`,
    clientName: "The tea demo",
    onSignedIn: () => `${appUrl}/`,
  });
  const shop = defineMcpClientConnection({
    url: shopUrl,
    description: "Orders things for the user.",
    session: "stateful",
    auth: oauth,
  });
  return { connections: { shop }, oauth, store, close };
}
