import { welcome } from "../lib/user";

/** A new chat. Its id is no secret: what is in it belongs to the user. */
export async function GET(): Promise<Response> {
  await welcome();
  return new Response(null, {
    status: 303,
    headers: { location: `/chat/${crypto.randomUUID()}`, "cache-control": "no-store" },
  });
}
