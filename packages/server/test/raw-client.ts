/** One message of an answer. */
export interface ReceivedMessage {
  eventId?: string | undefined;
  message: {
    id?: string | number | null;
    method?: string;
    params?: Record<string, unknown>;
    result?: { content?: { text: string }[]; [key: string]: unknown };
    error?: { code: number; message: string; data?: { code?: string } };
  };
}

export type Handle = (request: Request) => Response | Promise<Response>;

const url = "http://localhost/mcp";
const version = "2025-11-25";

const withId = (sessionId: string | undefined) =>
  sessionId === undefined ? {} : { "mcp-session-id": sessionId };

/** What begins a session, for tests that look at its answer. */
export const initializeRequest = {
  id: "init",
  method: "initialize",
  params: {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};

/** A request that calls a tool. */
export const toolCall = (id: string | number, name: string, args: object = {}) => ({
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

/** Tells that nobody waits for a request any more. */
export const cancellation = (requestId: string | number) => ({
  method: "notifications/cancelled",
  params: { requestId },
});

/** Sends the requests of a test, and nothing on its own. */
export function createRawClient(handle: Handle, headers: Record<string, string> = {}) {
  const send = async (method: string, more: Record<string, string>, body?: unknown) =>
    await handle(
      new Request(url, {
        method,
        headers: {
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": version,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
          ...more,
        },
        ...(body !== undefined && {
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
      }),
    );
  async function initialize(
    capabilities: Record<string, unknown> = {},
    protocolVersion = version,
  ): Promise<string> {
    const params = { ...initializeRequest.params, protocolVersion, capabilities };
    const response = await post(undefined, { ...initializeRequest, params });
    if (response.status !== 200) throw new Error(`initialize: ${response.status}`);
    await readMessages(response);
    const sessionId = response.headers.get("mcp-session-id")!;
    await post(sessionId, { method: "notifications/initialized" });
    return sessionId;
  }

  const post = (
    sessionId: string | undefined,
    message: object | object[],
    more: Record<string, string> = {},
  ) => {
    const body = Array.isArray(message)
      ? message.map((item: object) => ({ jsonrpc: "2.0", ...item }))
      : { jsonrpc: "2.0", ...message };
    return send("POST", { ...withId(sessionId), ...more }, body);
  };

  let lastId = 0;
  /** The answer to one tool call: its text, or its error. */
  async function call(
    sessionId: string | undefined,
    name: string,
    args: object = {},
    id: string | number = ++lastId,
  ) {
    const response = await post(sessionId, toolCall(id, name, args));
    if (!response.ok) return { status: response.status, body: await response.text() };
    const messages = await readMessages(response);
    const answer = messages.find(({ message }) => message.id === id)?.message;
    return {
      status: response.status,
      text: answer?.result?.content?.[0]?.text,
      error: answer?.error,
      messages,
      sessionId: response.headers.get("mcp-session-id"),
    };
  }

  const get = (
    sessionId: string | undefined,
    lastEventId?: string,
    more: Record<string, string> = {},
  ) =>
    send("GET", {
      ...withId(sessionId),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      accept: "text/event-stream",
      ...more,
    });

  const end = (sessionId: string | undefined) => send("DELETE", withId(sessionId));
  /** Resolves once a request with this id is in flight. */
  async function whenInFlight(sessionId: string, id: string | number): Promise<void> {
    while ((await call(sessionId, "list", {}, id)).status !== 409) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  return { initialize, post, call, get, end, send, whenInFlight };
}

/** All messages of an answer, JSON or SSE, to its end. */
export async function readMessages(response: Response): Promise<ReceivedMessage[]> {
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    const body = (await response.json()) as ReceivedMessage["message"];
    return (Array.isArray(body) ? body : [body]).map((message) => ({ message }));
  }
  return parseEvents(await response.text()).filter(({ message }) => "jsonrpc" in message);
}

/** The first `count` messages of a stream, which is cancelled then. */
export function takeEvents(response: Response, count: number): Promise<ReceivedMessage[]> {
  return takeUntil(response, (events) => {
    const messages = events.filter(({ message }) => "jsonrpc" in message);
    return messages.length >= count ? messages.slice(0, count) : undefined;
  });
}

/** A listening stream that has begun to listen: every later message is in it. */
export async function whenListening(response: Response): Promise<Response> {
  const [first, rest] = response.body!.tee();
  await takeEventId(new Response(first));
  return new Response(rest);
}

/** The first event id of a stream, which is cancelled then. */
export function takeEventId(response: Response): Promise<string> {
  return takeUntil(response, (events) => events.find(({ eventId }) => eventId)?.eventId);
}

async function takeUntil<T>(
  response: Response,
  pick: (events: ReceivedMessage[]) => T | undefined,
): Promise<T> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended early, after ${text.length} characters`);
    text += decoder.decode(value, { stream: true });
    const picked = pick(parseEvents(text));
    if (picked === undefined) continue;
    // Not awaited: one half of a tee waits for the other.
    void reader.cancel();
    return picked;
  }
}

function parseEvents(text: string): ReceivedMessage[] {
  const blocks = text.split("\n\n").slice(0, -1);
  return blocks.flatMap((block) => {
    const field = (name: string) =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim();
    const data = field("data");
    if (data === undefined) return [];
    const message = (data === "" ? {} : JSON.parse(data)) as ReceivedMessage["message"];
    return [{ eventId: field("id"), message }];
  });
}
