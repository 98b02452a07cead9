import { textOf } from "../clients/conformance-client.ts";
import type { OpenLegClient } from "./leg-client.ts";
import type { ConnectPlainClient } from "../../clients/plain-client.ts";

/** A client without us. It has nowhere to keep a question, and nothing to answer in a later process. */
export function alone(connect: ConnectPlainClient): OpenLegClient {
  return async ({ url }) => {
    const client = await connect({ url });
    return {
      ...client,
      callTool: async (name, args) => ({ text: textOf(await client.callTool(name, args)) }),
      waiting: async () => [],
      answer: () => Promise.reject(new Error("the client kept no question")),
    };
  };
}
