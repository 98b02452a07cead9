import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ConformanceClientKind } from "./conformance-client.ts";
import { acceptForm, clientInfo, declared, officialClient } from "./official-client.ts";

/** `@modelcontextprotocol/sdk` 1. */
export const sdk1Client: ConformanceClientKind = {
  create({ url, fetch, authProvider, elicitation }) {
    const client = new Client(clientInfo, declared(elicitation));
    if (elicitation) client.setRequestHandler(ElicitRequestSchema, acceptForm);
    const options = { authProvider, ...(fetch && { fetch }) };
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    return {
      ...officialClient(client, transport),
      finishAuthorization: (callback) => transport.finishAuth(callback.get("code") ?? ""),
    };
  },
};
