import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import {
  type ReceivedRequest,
  sendJson,
  startHttpServer,
  type TestHttpServer,
} from "../../core/test/http-server.ts";

/** Answers a request in the server's place; "next" leaves it to the server. */
export type Interceptor = (
  request: ReceivedRequest,
  response: ServerResponse,
) => "next" | void | Promise<"next" | void>;

export interface NotebookServer extends TestHttpServer {
  readonly url: string;
  /** The ids given out so far. */
  readonly sessionIds: string[];
  /** How many sessions are alive. */
  readonly liveSessions: () => number;
  /** How calls of the tool `wait` went: "started", then "finished" or "aborted". */
  readonly waits: string[];
  /** Forgets all sessions, as a restart does. */
  readonly forgetSessions: () => void;
  /** Ends the calls of `wait` that are under way. */
  readonly release: () => void;
  /** Changes how requests are answered from now on. */
  readonly intercept: (interceptor: Interceptor) => void;
}

export interface NotebookServerOptions {
  readonly instructions?: string;
  /** Sets up each session's server; the notebook's tools by default. */
  readonly setUp?: (mcp: McpServer) => void;
  /** Whether `initialize` names no session. */
  readonly isSessionless?: boolean;
  /** Gives the events of its streams ids. */
  readonly eventStore?: EventStore;
}

/** A stateful server on the official SDK: every session has notes of its own; an unknown id is 404. */
export async function startNotebookServer({
  instructions,
  setUp,
  isSessionless = false,
  eventStore,
}: NotebookServerOptions = {}): Promise<NotebookServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const sessionIds: string[] = [];
  const waits: string[] = [];
  let released = Promise.withResolvers<void>();
  let interceptor = leaveToServer;

  const openSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      ...(isSessionless ? {} : { sessionIdGenerator: () => `secret-session-${randomUUID()}` }),
      ...(eventStore && { eventStore }),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        sessionIds.push(id);
      },
      onsessionclosed: (id) => void transports.delete(id),
    });
    const mcp = new McpServer(
      { name: "notebook", version: "1.0.0" },
      instructions === undefined ? {} : { instructions },
    );
    if (setUp) setUp(mcp);
    else registerNotebook(mcp, { waits, released: () => released.promise });
    await mcp.connect(transport);
    return transport;
  };

  const server = await startHttpServer(async (request, response) => {
    if ((await interceptor(request, response)) !== "next") return;
    const id = request.headers["mcp-session-id"]?.toString();
    const transport = id === undefined || isSessionless ? await openSession() : transports.get(id);
    if (transport) return await transport.handleRequest(request.raw, response, request.message);
    const error = { code: -32001, message: "Session not found" };
    sendJson(response, 404, { jsonrpc: "2.0", id: null, error });
  });

  return Object.assign(server, {
    sessionIds,
    liveSessions: () => transports.size,
    waits,
    url: `${server.origin}/mcp`,
    forgetSessions: () => transports.clear(),
    release() {
      released.resolve();
      released = Promise.withResolvers();
    },
    intercept(next: Interceptor) {
      interceptor = next;
    },
  });
}

const leaveToServer: Interceptor = () => "next";

function registerNotebook(
  mcp: McpServer,
  { waits, released }: { waits: string[]; released: () => Promise<void> },
): void {
  const notes: string[] = [];
  mcp.registerTool(
    "add_note",
    { description: "Adds a note.", inputSchema: { text: z.string() } },
    ({ text }) => answer(`${notes.push(text)} notes`),
  );
  mcp.registerTool("list_notes", { description: "Lists the notes." }, () =>
    answer(notes.join(", ")),
  );
  mcp.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("The pencil broke.");
  });
  mcp.registerTool("wait", { description: "Waits until it is released." }, async ({ signal }) => {
    waits.push("started");
    const aborted = new Promise<"aborted">((resolve) => {
      signal.addEventListener("abort", () => resolve("aborted"));
    });
    const outcome = await Promise.race([aborted, released().then(() => "finished" as const)]);
    waits.push(outcome);
    return answer(outcome);
  });
}

export function answer(text: string) {
  return { content: [{ type: "text" as const, text }] };
}

/** Answers requests for this method, and leaves the others to the server. */
export function on(method: string, handler: Interceptor): Interceptor {
  return (request, response) =>
    request.message?.method === method || request.method === method
      ? handler(request, response)
      : "next";
}
