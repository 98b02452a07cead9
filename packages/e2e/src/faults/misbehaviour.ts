import type { Act, FaultOptions, FaultyProxy, Malformation } from "@durable-mcp/testing";

/** What a server, or what stands before it, does beside the faults that any test may use. */

/** Begins a fault of some requests. */
export type Begin = (front: FaultyProxy, on: FaultOptions) => unknown;

export const meets =
  (act: Act): Begin =>
  (front, on) =>
    front.meet(act, on);

export const refuse =
  (status: number): Begin =>
  (front, on) =>
    front.refuse(status, on);

export const tooMany = meets(
  async () => new Response("refused", { status: 429, headers: { "retry-after": "1" } }),
);

export const hang: Begin = (front, on) => front.hang(on);

export const malformed =
  (kind: Malformation): Begin =>
  (front, on) =>
    front.answerMalformed(kind, on);

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

/** Sends the headers, and then what `write` does. */
const afterHeaders =
  (write: (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void> | void): Act =>
  async ({ carryOut }) => {
    const { status, headers } = await wholeOf(await carryOut());
    const body = new ReadableStream<Uint8Array>({ start: (stream) => void write(stream) });
    return new Response(body, { status, headers });
  };

export const headersThenHang = afterHeaders(() => undefined);

export const resetAfterHeaders = afterHeaders(async (stream) => {
  await soon();
  stream.error(new Error("reset"));
});

export const heartbeatForEver: Act = async ({ carryOut }) => {
  const { status } = await wholeOf(await carryOut());
  return new Response(repeated(": still there\n\n"), { status, headers: events });
};

export const endlessRefusal: Act = async () =>
  new Response(repeated("trouble ".repeat(1_024)), {
    status: 500,
    headers: { "content-type": "text/plain" },
  });

function repeated(text: string): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout;
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start: (stream) => void (timer = setInterval(() => stream.enqueue(bytes), 20)),
    cancel: () => clearInterval(timer),
  });
}

/** As the specification has it for a resource; the session is well. */
export const notFoundResource: Act = refuseCall(404, -32_002, "Resource not found");

/** Words that a session router might use too. */
export const otherSessionExpired: Act = refuseCall(
  ...([400, -32_000, "Login session expired. Sign in to the shop again."] as const),
);

function refuseCall(status: number, code: number, message: string): Act {
  return async ({ seen, carryOut }) => {
    if (seen.rpcMethod !== "tools/call") return await carryOut();
    const { id } = seen.message;
    return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status });
  };
}

/** Each line of the JSON is a `data` line of its own. */
export const byteOrderMark: Act = async ({ carryOut }) => {
  const { status, headers, body } = await wholeOf(await carryOut());
  const lines = JSON.stringify(messageIn(body), null, 1).split("\n");
  const data = lines.map((line) => `data: ${line}\n`).join("");
  return new Response(`\u{FEFF}${data}\n`, { status, headers: { ...headers, ...events } });
};

export const oddEventId: Act = async ({ carryOut }) => {
  const { status, headers } = await wholeOf(await carryOut());
  const body = new ReadableStream<Uint8Array>({
    async start(stream) {
      stream.enqueue(new TextEncoder().encode("id: ☃\ndata: \n\n"));
      await soon();
      stream.error(new Error("reset"));
    },
  });
  return new Response(body, { status, headers: { ...headers, ...events } });
};

export const cursor =
  (nextCursor: string): Act =>
  async ({ carryOut }) => {
    const { status, headers, body } = await wholeOf(await carryOut());
    const message = messageIn(body) as { result?: object };
    const result = { ...message.result, nextCursor };
    return Response.json({ ...message, result }, { status, headers: { ...headers, ...json } });
  };

/** An answer that was read, with the headers that do not depend on its length. */
export async function wholeOf(answer: Response) {
  const body = await answer.text();
  const headers = Object.fromEntries(answer.headers);
  delete headers["content-length"];
  return { status: answer.status, headers, body };
}

/** The one message of an answer, JSON or events. */
function messageIn(body: string): object {
  const line = body.split("\n").find((text) => /^(data: ?)?\{/.test(text)) ?? "{}";
  return JSON.parse(line.replace(/^data: ?/, "")) as object;
}

/** As long as bytes need to arrive. */
export const soon = () => new Promise((resolve) => setTimeout(resolve, 10));
