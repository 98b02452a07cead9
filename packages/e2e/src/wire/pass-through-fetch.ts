/**
 * A session fetch without the rewriting of request ids: it replays the handshake and adds the id, nothing
 * else. The tests use it to show that their check of crossed answers can fail.
 */
export interface PassThroughSession {
  sessionId?: string;
  initializeResult?: unknown;
}

export function createPassThroughFetch(session: PassThroughSession): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.method === "GET") return new Response(null, { status: 405 });
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    const message = (await request.clone().json()) as { id?: unknown; method?: string };

    if (message.method === "server/discover") {
      return reply(message.id, { error: { code: -32601, message: "Method not found" } });
    }
    if (message.method === "initialize") {
      if (session.sessionId === undefined) return initialize(request, session);
      return reply(message.id, { result: session.initializeResult });
    }
    if (session.sessionId !== undefined) request.headers.set("mcp-session-id", session.sessionId);
    return fetch(request);
  };
}

async function initialize(request: Request, session: PassThroughSession): Promise<Response> {
  const response = await fetch(request);
  const text = await response.clone().text();
  const json = text.split("\n").find((line) => /^(data: )?\{/.test(line)) ?? "{}";
  session.initializeResult = (
    JSON.parse(json.replace("data: ", "")) as { result?: unknown }
  ).result;
  session.sessionId = response.headers.get("mcp-session-id") ?? "";
  return response;
}

function reply(id: unknown, outcome: object): Response {
  return Response.json({ jsonrpc: "2.0", id, ...outcome });
}
