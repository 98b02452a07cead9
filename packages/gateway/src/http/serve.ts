import { createHostCheck, parseMessages, readBody } from "@durable-mcp/core/internal";
import { isRequest, refusal, sessionNotFound } from "../base/answers.ts";
import type { GatewayOptions } from "../base/gateway-options.ts";
import type { SessionAddress } from "../session/session-names.ts";
import type { ClientSessions } from "../session/client-sessions.ts";
import { createSessionLimit } from "../session/session-limit.ts";
import type { Centre } from "../session/upstreams.ts";
import { createNamedBeginning, needsSession } from "./begin-named.ts";
import { beginSession } from "./begin-session.ts";
import { passThrough } from "./pass-through.ts";
import { serveGet } from "./serve-get.ts";
import { servePost } from "./serve-post.ts";

/** A request that was let in. */
interface Admitted {
  readonly request: Request;
  readonly address: SessionAddress;
  /** The client's id of its session. */
  readonly id: string | null;
}

/** The requests of clients, from the door to the session. */
export function createServe(centre: Centre, sessions: ClientSessions, options: GatewayOptions) {
  const { allowedHosts, allowedOrigins, principal: principalOf } = options;
  const { maxBodyBytes = 4_194_304, maxSessions = 1_000 } = options;
  const withRoom = createSessionLimit(centre, maxSessions);
  const beginNamed = createNamedBeginning(centre, sessions);
  const checkHost = createHostCheck({ allowedHosts, allowedOrigins });

  const admit = async (request: Request): Promise<Admitted | Response> => {
    const { host, pathname } = new URL(request.url);
    const { headers } = request;
    const header = (name: string) => headers.get(name) ?? (name === "host" ? host : null);
    const refused = checkHost({ header });
    if (refused) return refusal(403, refused.message);
    const principal = await principalOf(request);
    if (principal === undefined)
      return refusal(401, "Nobody is signed in.", { headers: { "www-authenticate": "Bearer" } });
    const last = (pathname.split("/").at(-1) ?? "").replace("%40", "@");
    const [connection = "", name] = last.split(/@(.*)/s);
    if (!Object.hasOwn(centre.connections, connection))
      return refusal(404, "The gateway has no such connection.", { code: -32_601 });
    if (name !== undefined && !/^[\w.-]{1,100}$/.test(name))
      return refusal(404, "A name after @ has 1 to 100 letters (A-Z), digits, and . _ -.", {
        code: -32_601,
      });
    const address = { connection, principal, name };
    return { request, address, id: headers.get("mcp-session-id") };
  };

  const post = async ({ request, address, id }: Admitted): Promise<Response> => {
    const body = await readBody(request, maxBodyBytes);
    if (body === undefined) return refusal(413, `The body is longer than ${maxBodyBytes} bytes.`);
    const parsed = parseMessages(body);
    if (!parsed) return refusal(400, "The body is no JSON-RPC message.", { code: -32_700 });
    const message = parsed.isBatch ? undefined : parsed.messages[0];
    if (id !== null) {
      const session = await sessions.find(id, address);
      const answer =
        session && (await session.use(() => servePost(centre, session, message, body)));
      // It was ended elsewhere.
      if (session && answer === undefined) await sessions.close(session);
      return answer ?? sessionNotFound();
    }
    const isNamed = address.name !== undefined;
    if (message === undefined || !isRequest(message) || message.method !== "initialize")
      return isNamed
        ? needsSession(message)
        : await passThrough(centre, { request, ...address }, message, body);
    const begin = async () =>
      await (isNamed ? beginNamed(message, address) : beginSession(sessions, message, address));
    const tooMany = `There are ${maxSessions} sessions of this principal. End some.`;
    return (await withRoom(address.principal, begin)) ?? refusal(429, tooMany);
  };

  return async (request: Request): Promise<Response> => {
    const admitted = await admit(request);
    if (admitted instanceof Response) return admitted;
    const { method } = request;
    if (method === "POST") return await post(admitted);
    const { address, id } = admitted;
    if (id === null || !["GET", "DELETE"].includes(method)) {
      const headers = { allow: "POST, GET, DELETE" };
      return refusal(405, "This method needs a session.", { headers });
    }
    const session = await sessions.find(id, address);
    if (session === undefined) return sessionNotFound();
    if (method === "GET") return await session.use(() => serveGet(centre, session, request));
    // Also without the store, so that the next DELETE tries it once more.
    try {
      await session.upstream.end();
    } finally {
      await sessions.close(session);
    }
    return new Response(null, { status: 204 });
  };
}
