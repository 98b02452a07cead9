import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

/** Where the user comes back to. The tokens are kept, and the chat goes on. */
export async function GET(request: Request): Promise<Response> {
  const principal = await currentUser();
  if (principal === undefined) return new Response("Open a chat first.", { status: 401 });
  return await chatParts().oauth.callback(request, { principal });
}
