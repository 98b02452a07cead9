import { chatParts } from "../../lib/agent";

/** The page of operators. `lib/agent.ts` says who they are. */
async function studio(request: Request): Promise<Response> {
  return await (await chatParts()).studio(request);
}

export { studio as GET, studio as POST };
