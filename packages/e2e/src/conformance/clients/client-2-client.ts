import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ConformanceClientKind } from "./conformance-client.ts";
import { acceptForm, clientInfo, declared, officialClient } from "./official-client.ts";

/** `@modelcontextprotocol/client` 2 as it comes: `initialize`, no probe. */
export const client2Client: ConformanceClientKind = {
  create({ url, fetch, authProvider, elicitation }) {
    const client = new Client(clientInfo, declared(elicitation));
    if (elicitation) client.setRequestHandler("elicitation/create", acceptForm);
    const options = { authProvider, ...(fetch && { fetch }) };
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    return {
      ...officialClient(client, transport),
      finishAuthorization: (callback) => transport.finishAuth(callback),
    };
  },
};
