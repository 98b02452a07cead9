import type { JsonRpcRequest, Principal } from "@durable-mcp/core";
import {
  type JsonRpcId,
  type JsonRpcMessage,
  parseMessages,
  randomToken,
} from "@durable-mcp/core/internal";
import { isRequest, messageAnswer, refusal, sessionNotFound } from "../base/answers.ts";
import type { McpStdioConnection } from "../base/centre.ts";
import { isBehind, type Listener, messageEvent, openListener } from "../base/events.ts";
import type { ProgramChild } from "./program-child.ts";
import { createProgramStart } from "./program-start.ts";

/** Names the principal of a request. It does not leave the process. */
export const principalHeader = "x-durable-mcp-principal";

const accepted = () => new Response(null, { status: 202 });

/**
 * A program as a server of Streamable HTTP with sessions, within this process: `initialize` starts it, DELETE ends it, and
 * the id of a session whose program has ended is not found. All that the gateway does for such servers it thus does for
 * programs.
 *
 * @param isShared one process serves all sessions of a principal
 */
export function createProgramFetch(
  definition: McpStdioConnection,
  connection: string,
  isShared: boolean,
) {
  const programs = createProgramStart(definition, connection);
  const sessions = new Map<string, ReturnType<typeof createSession>>();

  const begin = async (message: JsonRpcRequest, principal: Principal, left?: AbortSignal) => {
    const { child, answer } = await (isShared
      ? programs.share(principal)
      : programs.start(message, principal));
    const own = messageAnswer({ ...answer, id: message.id });
    if (answer.error || left?.aborted) {
      if (child.sessions.size === 0) void child.close();
      return own;
    }
    const id = randomToken() + randomToken();
    const session = createSession(child, () => sessions.delete(id), isShared);
    sessions.set(id, session);
    own.headers.set("mcp-session-id", id);
    return own;
  };

  const post = async (
    headers: Headers,
    { body, signal }: RequestInit,
    id: string | null,
  ): Promise<Response> => {
    const parsed = parseMessages(body as string);
    const [message] = parsed?.isBatch === false ? parsed.messages : [];
    if (message === undefined) return refusal(400, "A program takes one message at a time.");
    if (id !== null || !isRequest(message) || message.method !== "initialize")
      return (await sessions.get(id ?? "")?.post(message)) ?? sessionNotFound();
    const principal = decodeURIComponent(headers.get(principalHeader) ?? "null");
    return await begin(message, JSON.parse(principal) as Principal, signal ?? undefined);
  };

  return {
    /**
     * Only called by the fetch of a connection, which sends texts. A request of its own costs a tenth of a call.
     *
     * @throws {McpSessionError} for a program that does not start
     */
    async fetch(init: RequestInit = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      const id = headers.get("mcp-session-id");
      if (init.method === "POST") return await post(headers, init, id);
      const session = sessions.get(id ?? "");
      if (session === undefined) return sessionNotFound();
      if (init.method !== "DELETE") return session.listen();
      await session.end();
      return new Response(null, { status: 204 });
    },
    /** Ends the program of a session, whose next use starts another. One that is shared goes on. */
    rest: async (id: string) => await sessions.get(id)?.end(),
    async close(): Promise<void> {
      const ending = [...sessions.values()].map((session) => session.end());
      await Promise.allSettled([...ending, programs.close()]);
    },
  };
}

function createSession(child: ProgramChild, onOver: () => void, isShared: boolean) {
  let listener: Listener | undefined;
  const silence = () => {
    listener?.close();
    listener = undefined;
  };
  const own = {
    tell(message: JsonRpcMessage): boolean {
      if (listener === undefined || isBehind(listener)) return false;
      listener.enqueue(messageEvent(message));
      return true;
    },
    close() {
      onOver();
      child.sessions.delete(own);
      silence();
    },
  };
  child.sessions.add(own);
  return {
    async post(message: JsonRpcMessage): Promise<Response | undefined> {
      if (child.isOver) return undefined;
      if (isRequest(message)) return await child.request(message);
      const { method, params } = "method" in message ? message : {};
      if (method === "notifications/cancelled") child.cancel(params?.["requestId"] as JsonRpcId);
      // A shared program has heard it.
      else if (!(isShared && method === "notifications/initialized"))
        await child.send(message).catch(() => undefined);
      return accepted();
    },
    listen(): Response {
      silence();
      const opened = openListener(() => {
        if (listener === opened.listener) listener = undefined;
      });
      listener = opened.listener;
      return opened.answer;
    },
    async end(): Promise<void> {
      own.close();
      if (!isShared) await child.close();
    },
  };
}
