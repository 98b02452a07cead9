import { createStudio } from "@durable-mcp/ai-sdk/studio";
import { chatParts } from "../../lib/agent";

/** The page of operators, on your own machine. In production `authorize` asks who they are: your login. */
async function studio(request: Request): Promise<Response> {
  if (process.env.NODE_ENV !== "development") return new Response("Not found.", { status: 404 });
  const { agent } = await chatParts();
  const serve = createStudio({
    sessions: agent.sessions,
    authorize: () => ({ name: "developer", may: ["look", "answer", "end"] }),
  });
  return await serve(request);
}

export { studio as GET, studio as POST };
