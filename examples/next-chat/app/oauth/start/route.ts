import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

/** Sends the user's browser to the server where they sign in. */
export async function GET(request: Request): Promise<Response> {
  const principal = await currentUser();
  if (principal === undefined) return new Response("Open a chat first.", { status: 401 });
  return await chatParts().oauth.start(request, { principal });
}
