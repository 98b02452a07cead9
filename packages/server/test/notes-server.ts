import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SetLevelRequestSchema, SubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer as McpServerOfSdk2, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ServerSession } from "../src/index.ts";

export interface Notes {
  notes: string[];
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Everything that these servers were told, in order. */
export interface NotesLog {
  readonly lines: string[];
}

const about = [
  { name: "notes", version: "1.0.0" },
  { capabilities: { logging: {}, resources: { subscribe: true } } },
] as const;

/** A server whose notes are the state of the session. One of SDK 2 is of another type, and has the same tools. */
export function createNotesServer(
  session: ServerSession<Notes>,
  { lines }: NotesLog = { lines: [] },
  sdk: 1 | 2 = 1,
): McpServer {
  const isOfSdk2 = sdk === 2;
  const mcp = isOfSdk2
    ? (new McpServerOfSdk2(...about) as unknown as McpServer)
    : new McpServer(...about);
  const tool = (
    name: string,
    shape: z.ZodRawShape,
    run: (args: ToolArguments, extra: ToolExtra) => unknown,
  ) => {
    const ofEither = (args: ToolArguments, extra: ToolExtra | ServerContext) =>
      run(args, "mcpReq" in extra ? extraOf(extra) : extra);
    mcp.registerTool(name, { inputSchema: z.object(shape) }, ofEither as never);
  };
  const onRequest = (schema: object, method: string, handle: (request: never) => object) =>
    mcp.server.setRequestHandler((isOfSdk2 ? method : schema) as never, handle);

  tool("add", { text: z.string() }, ({ text: note }) => {
    session.state.notes.push(note);
    return text(`${session.state.notes.length} notes`);
  });
  tool("add_with_update", { text: z.string() }, async ({ text: note }) => {
    await session.update(({ notes }) => notes.push(note));
    return text("added");
  });
  tool("list", {}, () => text(session.state.notes.join(",")));
  tool("add_slowly", { text: z.string(), ms: z.number() }, async ({ text: note, ms }) => {
    const { notes } = session.state;
    await new Promise((resolve) => setTimeout(resolve, ms));
    notes.push(note);
    return text("added");
  });
  tool("wait", { ms: z.number() }, async ({ ms }, { signal }) => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        lines.push("aborted");
        clearTimeout(timer);
        resolve();
      });
    });
    return text("waited");
  });
  tool("hang", {}, () => new Promise(() => {}));
  tool("report", { steps: z.number() }, async ({ steps }, { sendNotification, closeSSEStream }) => {
    for (let step = 1; step <= steps; step++) {
      const data = `step ${step}`;
      await sendNotification({ method: "notifications/message", params: { level: "info", data } });
      if (step === 1) closeSSEStream?.();
    }
    return text(`${steps} steps`);
  });
  tool("hang_up", {}, (_args, { closeStandaloneSSEStream }) => {
    closeStandaloneSSEStream?.();
    return text("hung up");
  });
  tool("ask", {}, async () => {
    const answer = await mcp.server.elicitInput({
      message: "Your name?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    return text(JSON.stringify(answer.content ?? answer.action));
  });
  tool("ask_related", {}, async (_args, { sendRequest }) => {
    const params = {
      message: "Your name?",
      requestedSchema: { type: "object" as const, properties: { name: { type: "string" } } },
    };
    const result = z.looseObject({ content: z.unknown() });
    const answer = await sendRequest({ method: "elicitation/create", params }, result as never);
    return text(JSON.stringify((answer as { content: unknown }).content));
  });
  tool("announce", {}, async () => {
    await mcp.server.notification({ method: "notifications/resources/list_changed" });
    return text("announced");
  });

  onRequest(SetLevelRequestSchema, "logging/setLevel", ({ params }: Asked) => {
    lines.push(`level ${params.level}`);
    return {};
  });
  onRequest(SubscribeRequestSchema, "resources/subscribe", ({ params }: Asked) => {
    lines.push(`subscribed ${params.uri}`);
    return {};
  });
  Object.assign(mcp.server, {
    oninitialized: () => void lines.push("initialized"),
    onclose: () => void lines.push("closed"),
  });
  return mcp;
}

interface Asked {
  readonly params: { readonly level?: string; readonly uri?: string };
}

/** What SDK 2 hands to a tool, by the names of SDK 1. */
function extraOf({ mcpReq, http }: ServerContext): ToolExtra {
  return {
    signal: mcpReq.signal,
    sendNotification: (notification) => mcpReq.notify(notification as never),
    sendRequest: (request) => mcpReq.send(request as never),
    ...(http?.closeSSE && { closeSSEStream: http.closeSSE }),
  };
}

interface ToolExtra {
  signal: AbortSignal;
  sendNotification: (notification: unknown) => Promise<void>;
  sendRequest: (request: unknown, schema: never) => Promise<unknown>;
  closeSSEStream?: () => void;
  closeStandaloneSSEStream?: () => void;
}

/** The arguments of all tools. */
interface ToolArguments {
  text: string;
  ms: number;
  steps: number;
}
