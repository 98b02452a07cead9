import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { acceptForm, clientInfo, officialClient } from "./official-client.ts";
import type { CreateOwnClient } from "./own-client.ts";

/** `@modelcontextprotocol/sdk` 1. */
export const createSdk1: CreateOwnClient = ({
  url,
  fetch,
  capabilities = {},
  authProvider,
  acceptsForms,
}) => {
  const client = new Client(clientInfo, { capabilities });
  if (acceptsForms) client.setRequestHandler(ElicitRequestSchema, acceptForm);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...(authProvider && { authProvider }),
    ...(fetch && { fetch }),
  });
  return {
    ...officialClient(client, transport),
    finishAuthorization: (callback) => transport.finishAuth(callback.get("code") ?? ""),
  };
};
