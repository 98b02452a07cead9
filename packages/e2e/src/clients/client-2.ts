import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { acceptForm, clientInfo, officialClient } from "./official-client.ts";
import type { CreateOwnClient } from "./own-client.ts";

/** `@modelcontextprotocol/client` 2 as it comes: `initialize`, no probe. */
export const createClient2 = createWith({});

/** `@modelcontextprotocol/client` 2 with `server/discover` first. */
export const createClient2Auto = createWith({ versionNegotiation: { mode: "auto" } });

function createWith(options: ClientOptions): CreateOwnClient {
  return ({ url, fetch, capabilities = {}, authProvider, acceptsForms }) => {
    const client = new Client(clientInfo, { ...options, capabilities });
    if (acceptsForms) client.setRequestHandler("elicitation/create", acceptForm);
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      ...(authProvider && { authProvider }),
      ...(fetch && { fetch }),
    });
    return {
      ...officialClient(client, transport),
      finishAuthorization: (callback) => transport.finishAuth(callback),
    };
  };
}
