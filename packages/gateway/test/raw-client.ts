import { createEventSplitter, eventText } from "@durable-mcp/core/internal";
import { expect, onTestFinished } from "vitest";

/** What a stream has brought so far. */
export interface ReadEvent {
  readonly id: string | undefined;
  readonly message: any;
}

interface RawOptions {
  readonly token?: string;
  readonly session?: string;
  readonly lastEventId?: string;
  readonly headers?: Record<string, string>;
}

const accept = "application/json, text/event-stream";

function headersOf({ token = "ann", session, lastEventId, headers }: RawOptions) {
  return {
    "content-type": "application/json",
    accept,
    ...(token !== "" && { authorization: `Bearer ${token}` }),
    ...(session !== undefined && { "mcp-session-id": session }),
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    ...headers,
  };
}

/** Posts a message, or a text. */
export async function post(url: string, message: unknown, options: RawOptions = {}) {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return await fetch(url, { method: "POST", headers: headersOf(options), body });
}

export async function get(url: string, options: RawOptions = {}) {
  return await fetch(url, { headers: headersOf(options) });
}

export const request = (id: string | number, method: string, params: object = {}) => ({
  jsonrpc: "2.0",
  ...{ id, method, params },
});

export const toolCall = (id: string | number, name: string, args: object = {}, meta?: object) =>
  request(id, "tools/call", { name, arguments: args, ...(meta && { _meta: meta }) });

/** Begins a session. @returns its id */
export async function begin(
  url: string,
  {
    capabilities = {},
    protocolVersion = "2025-11-25",
    clientInfo = { name: "raw", version: "1.0.0" },
    ...options
  }: RawOptions & { capabilities?: object; protocolVersion?: string; clientInfo?: object } = {},
): Promise<string> {
  const params = { protocolVersion, capabilities, clientInfo };
  const response = await post(url, request(0, "initialize", params), options);
  const text = await response.text();
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error(`${response.status} ${text}`);
  await post(url, { jsonrpc: "2.0", method: "notifications/initialized" }, { ...options, session });
  return session;
}

/** Reads a stream event by event. */
export function readEvents(response: Response) {
  const reader = response.body!.getReader();
  const splitter = createEventSplitter();
  const read: ReadEvent[] = [];
  const state = { isOver: false };
  const readOn = async () => {
    const { value } = await reader.read();
    if (value === undefined) {
      state.isOver = true;
      return;
    }
    for (const event of splitter.push(value)) {
      const text = eventText(event);
      const id = event.idLine === undefined ? undefined : event.id;
      if (text !== "" || id !== undefined)
        read.push({ id, message: text === "" ? undefined : JSON.parse(text) });
    }
  };
  const leave = () => reader.cancel().catch(() => undefined);
  onTestFinished(leave);
  return {
    /** The next event; `undefined` at the end. */
    async next(): Promise<ReadEvent | undefined> {
      while (read.length === 0 && !state.isOver) await readOn();
      return read.shift();
    },
    /** All that come until the end. */
    async rest(): Promise<ReadEvent[]> {
      while (!state.isOver) await readOn();
      return read.splice(0);
    },
    leave,
  };
}

/** The messages of an answer, of events or JSON. */
export async function messagesOf(response: Response): Promise<any[]> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return [await response.json()];
  const events = await readEvents(response).rest();
  return events.flatMap(({ message }) => message ?? []);
}

/** Begins as a client of `url`, and gives its calls. */
export async function enter(url: string, options: Parameters<typeof begin>[1] = {}) {
  const session = await begin(url, options);
  let last = 0;
  return {
    session,
    async call(name = "count", args: object = {}, at = url) {
      const response = await post(at, toolCall((last += 1), name, args), { ...options, session });
      if (!response.ok) return `HTTP ${response.status}`;
      const answer = (await messagesOf(response)).at(-1);
      expect(answer.id).toBe(last);
      return JSON.stringify(answer.result ?? answer.error);
    },
    end: () =>
      fetch(url, {
        method: "DELETE",
        headers: { authorization: "Bearer ann", "mcp-session-id": session },
      }),
  };
}
