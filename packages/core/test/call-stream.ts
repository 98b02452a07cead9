import { createMemoryStore } from "../src/index.ts";
import { checkWaitingCalls, createWaitingCalls, type WaitingLimits } from "../src/waiting/index.ts";
import { principal, url } from "./asking-server.ts";
import { createRpcClient } from "./rpc-client.ts";

export const event = (id: string, message?: object) =>
  `id: ${id}\ndata: ${message ? JSON.stringify({ jsonrpc: "2.0", ...message }) : ""}\n\n`;
export const question = (id: number) => ({
  ...{ id, method: "elicitation/create" },
  params: { message: `Question ${id}?`, requestedSchema: { type: "object", properties: {} } },
});
export const done = { content: [{ type: "text", text: "Done." }] };
/** A server that answers a call on a stream: each GET has what comes after its event. */
export function startStream({
  store = createMemoryStore(),
  onResume,
  ...limits
}: Partial<WaitingLimits> & {
  store?: ReturnType<typeof createMemoryStore>;
  /** The streams that resume it stay open, and come when this has happened. */
  onResume?: Promise<unknown>;
} = {}) {
  let aheadMs = 0;
  const encoder = new TextEncoder();
  const sent: { readonly httpMethod: string; readonly body: any; readonly from: string | null }[] =
    [];
  const chunks: string[] = [];
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  const inStream = (own: readonly string[], isOpen: boolean) =>
    new Response(
      new ReadableStream({
        start(stream) {
          for (const chunk of own) stream.enqueue(encoder.encode(chunk));
          if (isOpen) writer = stream;
          else stream.close();
        },
        cancel: () => void (writer = undefined),
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    const body = text === "" ? undefined : JSON.parse(text);
    const from = request.headers.get("last-event-id");
    sent.push({ httpMethod: request.method, body, from });
    if (body?.method === "tools/call") return inStream(chunks, true);
    if (request.method === "POST") return new Response(null, { status: 202 });
    const at = chunks.findIndex((chunk) => chunk.startsWith(`id: ${from}\n`));
    // What has come since, in one chunk.
    await onResume;
    return inStream([chunks.slice(at + 1).join("")], onResume !== undefined);
  };
  const waiting = createWaitingCalls({
    ...{ store, sessionId: "chat", principal, connection: "lab", url, afterMs: 0, ...limits },
    now: () => Date.now() + aheadMs,
  });
  const session = { "mcp-session-id": "secret-session" };
  const wrapped = waiting.wrap(fetch);
  const client = createRpcClient(wrapped, url, session);
  return {
    store,
    sent,
    waiting,
    fetch,
    /** Waits until so many requests are sent. */
    async until(count: number) {
      while (sent.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
    },
    resume: async (eventId: string) =>
      await (await wrapped(url, { headers: { ...session, "last-event-id": eventId } })).text(),
    cancel: (requestId: number) =>
      client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }),
    call: () => client.request("tools/call", { name: "research", arguments: {} }),
    /** Says something on the stream of the call, and on those that resume it. */
    say(...said: string[]) {
      chunks.push(...said);
      for (const chunk of said) writer?.enqueue(encoder.encode(chunk));
    },
    close: () => writer?.close(),
    breakOff: () => writer?.error(new TypeError("terminated")),
    async check(passedMs = 10_000) {
      aheadMs += passedMs;
      const [call] = await checkWaitingCalls(waiting, { fetch });
      return call;
    },
  };
}
