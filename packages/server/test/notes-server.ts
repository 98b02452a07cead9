import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
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

/** A server whose notes are the state of the session. */
export function createNotesServer(
  session: ServerSession<Notes>,
  { lines }: NotesLog = { lines: [] },
): McpServer {
  const mcp = new McpServer(
    { name: "notes", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const tool = (
    name: string,
    shape: z.ZodRawShape,
    run: (args: ToolArguments, extra: ToolExtra) => unknown,
  ) => mcp.registerTool(name, { inputSchema: shape }, run as never);

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

  mcp.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    lines.push(`level ${params.level}`);
    return {};
  });
  mcp.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    lines.push(`subscribed ${params.uri}`);
    return {};
  });
  mcp.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    lines.push(`unsubscribed ${params.uri}`);
    return {};
  });
  Object.assign(mcp.server, {
    oninitialized: () => void lines.push("initialized"),
    onclose: () => void lines.push("closed"),
  });
  return mcp;
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
