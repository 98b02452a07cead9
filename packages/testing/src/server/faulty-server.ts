import { randomUUID } from "node:crypto";
import {
  type CallToolResult,
  createMcpHandler,
  type ElicitResult,
  fromJsonSchema,
  inputRequired,
  type InputRequest,
  type InputRequiredResult,
  inputResponse,
  isLegacyRequest,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { respond } from "./acts.ts";
import { createFaults } from "./faulty-proxy.ts";
import { createSignIn } from "./sign-in.ts";

/** A tool of a faulty server. */
interface FaultyTool {
  /** @default the tool's name */
  readonly description?: string | undefined;
  /** Zod or another standard schema, or a JSON Schema. @default any object */
  readonly inputSchema?: StandardSchemaWithJSON | object | undefined;
  /**
   * Does what the tool does, once for each entry of the ledger.
   *
   * @returns the text of the result, or the whole result. What it throws is an error for the model.
   */
  readonly run: (
    input: any,
    run: ToolRun,
  ) => string | CallToolResult | Promise<string | CallToolResult>;
}

/** What a tool knows of its call. */
interface ToolRun {
  /** Lives as long as the session: a cart, a browser. Empty for each call where there is no session. */
  readonly session: Record<string, any>;
  /** What people have answered, under the keys of the questions. */
  readonly answers: Readonly<Record<string, ElicitResult["content"]>>;
  readonly signal: AbortSignal;
}

/** Tools by their names; a function is a tool that takes any object. */
type FaultyTools = Readonly<Record<string, FaultyTool | FaultyTool["run"]>>;

/** A question to a person: a form (properties of a flat JSON Schema, all of them wanted), or a page to open. */
type Question =
  | { readonly message: string; readonly form: Readonly<Record<string, object>> }
  | { readonly message: string; readonly url: string };

/** `"both"` serves sessions to those that want a handshake, and 2026-07-28 to others. */
type Era = "2025-11-25" | "2026-07-28" | "both";

interface FaultyServerOptions {
  readonly tools: FaultyTools;
  /** Whether it gives clients of 2025-11-25 and before a session. @default true */
  readonly sessions?: boolean | undefined;
  /** The revisions that it speaks. @default "both" */
  readonly era?: Era | undefined;
  /** Its clock: for tokens that become too old. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** An MCP server that behaves as a test tells it. */
export type FaultyServer = Awaited<ReturnType<typeof createFaultyServer>>;

/**
 * Starts an MCP server on port 0 of 127.0.0.1, in this process: real HTTP, real sessions, both eras, and all faults that
 * a test asks for while it runs. Steps in other processes reach it by `url`. Close it at the end of the test.
 *
 * @example
 * const server = await createFaultyServer({ tools: { add: ({ item }) => `${item} added` } });
 * server.forgetSessions();
 */
export async function createFaultyServer({ now = Date.now, ...own }: FaultyServerOptions) {
  const { fetch, ...mcp } = createMcp(own);
  const faults = await createFaults(fetch);
  return Object.assign(faults, mcp, {
    /**
     * Requires a sign-in from now on: OAuth 2.1 at the server's own origin, with registration, PKCE, and refresh tokens
     * that work once. A second use revokes the grant.
     *
     * @param options.accessTokenSeconds how long an access token is valid; by default 3600
     */
    requireSignIn(options: { accessTokenSeconds?: number } = {}) {
      const signIn = createSignIn(faults.origin, now, options.accessTokenSeconds ?? 3_600);
      faults.setGuard(signIn.guard);
      return signIn;
    },
  });
}

/** An MCP server on the official SDK. */
function createMcp({ tools, sessions: hasSessions = true, era = "both" }: FaultyServerOptions) {
  const questions = new Map<string, readonly Record<string, Question>[]>();
  const ledger: { tool: string; input: any; answers: ToolRun["answers"] }[] = [];
  type Transport = WebStandardStreamableHTTPServerTransport;
  const sessions = new Map<string, { transport: Transport; retool: () => void }>();

  const createServer = (session?: Record<string, unknown>) => {
    const mcp = new McpServer(
      { name: "faulty", version: "1.0.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    let registered: { remove: () => void }[] = [];
    const retool = () => {
      for (const tool of registered) tool.remove();
      registered = Object.entries(tools).map(([name, given]) => {
        const tool = typeof given === "function" ? { run: given } : given;
        const { description = name, inputSchema = { type: "object" } } = tool;
        const schema =
          "~standard" in inputSchema
            ? (inputSchema as StandardSchemaWithJSON)
            : fromJsonSchema(inputSchema);
        return mcp.registerTool(name, { description, inputSchema: schema }, (input, context) =>
          call(name, tool, input, context, session),
        );
      });
    };
    retool();
    return { mcp, retool };
  };

  const call = async (
    name: string,
    tool: FaultyTool,
    input: unknown,
    { mcpReq }: ServerContext,
    session: Record<string, unknown> = {},
  ): Promise<CallToolResult | InputRequiredResult> => {
    const rounds = questions.get(name) ?? [];
    const { round, answers: before } = JSON.parse(
      mcpReq.requestState<string>() ?? '{ "round": 0, "answers": {} }',
    ) as AskedState;
    const views = Object.keys(rounds[round - 1] ?? {}).map(
      (key) => [key, inputResponse(mcpReq.inputResponses, key)] as const,
    );
    if (views.some(([, view]) => view.kind === "elicit" && view.action !== "accept")) {
      return say(`Nobody agreed to ${name}.`);
    }
    const isAnswered = views.every(([, { kind }]) => kind === "elicit");
    const said = views.map(([key, view]) => [key, "content" in view ? view.content : {}]);
    const answers = { ...before, ...(Object.fromEntries(said) as ToolRun["answers"]) };
    const next = isAnswered ? round : round - 1;
    if (rounds[next] !== undefined) {
      const state: AskedState = { round: next + 1, answers };
      const requests = Object.entries(rounds[next]).map(([key, asked]) => [key, requestOf(asked)]);
      return inputRequired({
        inputRequests: Object.fromEntries(requests) as Record<string, InputRequest>,
        requestState: JSON.stringify(state),
      });
    }
    const output = await tool.run(input, { session, answers, signal: mcpReq.signal });
    ledger.push({ tool: name, input, answers });
    return typeof output === "string" ? say(output) : output;
  };

  const modern = createMcpHandler(() => createServer().mcp, { legacy: "reject" });
  const stateless = createMcpHandler(() => createServer().mcp, { legacy: "stateless" });

  const handshaken = async (request: Request, parsedBody: unknown): Promise<Response> => {
    const id = request.headers.get("mcp-session-id");
    const known = sessions.get(id ?? "");
    if (known) return await known.transport.handleRequest(request, { parsedBody });
    if (id !== null) {
      const error = { code: -32_001, message: "Session not found" };
      return respond({ jsonrpc: "2.0", error, id: null }, 404);
    }
    const { mcp, retool } = createServer({});
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => `secret-session-${randomUUID()}`,
      onsessioninitialized: (made) => void sessions.set(made, { transport, retool }),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await mcp.connect(transport);
    return await transport.handleRequest(request, { parsedBody });
  };

  return {
    /** What really happened: each run of a tool, in order. */
    ledger,
    /**
     * Has a tool ask a person before it runs: with `input_required` in 2026-07-28, on the open stream in earlier
     * revisions. Each round may have several questions. If a person declines, the tool does not run. With no rounds it
     * asks no more.
     */
    ask: (tool: string, rounds: readonly Record<string, Question>[]) =>
      void questions.set(tool, rounds),
    /** Offers other tools. Sessions that are open get `notifications/tools/list_changed`. */
    setTools(next: FaultyTools): void {
      tools = next;
      for (const { retool } of sessions.values()) retool();
    },
    /** Speaks other revisions, as after a deploy. */
    setEra: (next: Era) => void (era = next),
    fetch: async (request: Request, message: object): Promise<Response> => {
      const parsedBody = request.method === "POST" ? message : undefined;
      const isOld =
        era === "2025-11-25" || (era === "both" && (await isLegacyRequest(request.clone())));
      if (!isOld) return await modern.fetch(request, { parsedBody });
      if (hasSessions) return await handshaken(request, parsedBody);
      return await stateless.fetch(request, { parsedBody });
    },
  };
}

/** What a `requestState` says: the round that was asked last, from 1. */
interface AskedState {
  readonly round: number;
  readonly answers: ToolRun["answers"];
}

function requestOf({ message, ...question }: Question): InputRequest {
  if ("url" in question) return inputRequired.elicitUrl({ message, url: question.url });
  const { form } = question;
  const requestedSchema = { type: "object", properties: form, required: Object.keys(form) };
  return inputRequired.elicit({ message, requestedSchema: requestedSchema as never });
}

const say = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });
