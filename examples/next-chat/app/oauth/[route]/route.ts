import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

/** /oauth/start sends the user to where they sign in; /oauth/callback keeps the tokens, and the chat goes on. */
export async function GET(request: Request): Promise<Response> {
  const principal = await currentUser();
  if (principal === undefined) return new Response("Open a chat first.", { status: 401 });
  const { oauth } = await chatParts();
  return await oauth.handler(request, { principal });
}
