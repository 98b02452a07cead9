import type { OpenLegClient } from "./leg-client.ts";
import {
  askable,
  connectOwnClient,
  type CreateOwnClient,
  textOf,
} from "../../clients/own-client.ts";

/** A client without us. It has nowhere to keep a question, and nothing to answer in a later process. */
export function alone(create: CreateOwnClient): OpenLegClient {
  return async ({ url }) => {
    const client = await connectOwnClient(create, { url, capabilities: askable });
    return {
      ...client,
      callTool: async (name, args) => ({ text: textOf(await client.callTool(name, args)) }),
      waiting: async () => [],
      check: () => Promise.reject(new Error("the client kept no call")),
      answer: () => Promise.reject(new Error("the client kept no question")),
    };
  };
}
