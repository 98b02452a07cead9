import type { MCPClient } from "@ai-sdk/mcp";
import { createConnectionProvider } from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import {
  type Checklist,
  type CheckResult,
  createChecklist,
  type Facts,
  ok,
  type Probe,
  type Row,
  warning,
} from "./checks.ts";
import { describeServer, modernVersion } from "./era-checks.ts";
import { createOpenSessions } from "./open-sessions.ts";
import { checkCall, checkTools } from "./tool-checks.ts";
import type { Wire } from "./wire.ts";

interface CommandProbe extends Probe {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /** Of the program, over the few variables that it inherits. Secret. */
  readonly env: Readonly<Record<string, string>>;
  /** @default the working directory of this process */
  readonly cwd?: string | undefined;
}

/** A package may have to be downloaded first, in milliseconds. */
const startMs = 60_000;
/** The program's time to end by itself, in milliseconds. */
const closeMs = 2_000;

const inheritance =
  "It inherits PATH, HOME and the like alone, as it will in your application: hand others on with --env NAME, or in env of its entry.";

/** Starts a program as an application does, asks it, and ends it with all its processes, whatever happens. */
export async function probeCommand(probe: CommandProbe): Promise<{ facts: Facts; rows: Row[] }> {
  const { words, env, limits, signal, onStart } = probe;
  const [command = "", ...args] = words;
  const program = defineMcpStdioConnection({
    ...{ command, args, env, cwd: probe.cwd, description: "The program that is probed." },
    timeouts: { connectMs: startMs, closeMs },
  });
  let hasStrayLines = false;
  const provider = createConnectionProvider({
    connections: { program },
    onEvent: { every: ({ type }) => void (hasStrayLines ||= type === "line-dropped") },
  });
  const run = provider.create({ principal: { type: "anonymous" } });
  const connect = () => run.client("program");
  const [wire, sessions] = [createProgramWire(connect), createOpenSessions()];
  const list = createChecklist({ wire, sessions, limits, signal, headers: env }, onStart);
  try {
    await askAll(list, connect, probe);
    if (list.facts.server !== undefined) {
      await list.run("stdout", async () => describeStdout(hasStrayLines));
    }
  } finally {
    onStart("ending the program");
    await run.dispose();
  }
  return { facts: list.facts, rows: list.rows() };
}

async function askAll(
  list: Checklist,
  connect: () => Promise<MCPClient>,
  { call, limits: { requestMs } }: CommandProbe,
): Promise<void> {
  const start = async () => {
    const from = Date.now();
    const { initializeResult } = await connect().catch((error: Error) => {
      throw new Error(`${error.message}\n${inheritance}`, { cause: error });
    });
    const { says, facts } = describeProgram(initializeResult);
    const seconds = ((Date.now() - from) / 1_000).toFixed(1);
    return ok(`${says} It was there after ${seconds} s.`, facts);
  };
  await list.run("server", start, startMs + requestMs);
  const { facts } = list;
  if (facts.server === undefined) return;
  await list.run("tools", (c) => checkTools(c, facts, undefined));
  if (call === undefined) return;
  const limitMs = call.timeoutMs + 1_000;
  await list.run(`call ${call.name}`, (c) => checkCall(c, facts, undefined, call), limitMs);
}

function describeProgram(result: MCPClient["initializeResult"]): CheckResult {
  const { protocolVersion, capabilities, serverInfo } = result;
  if (protocolVersion < modernVersion) return describeServer(undefined, { result });
  const discovered = {
    ...{ supportedVersions: [protocolVersion], capabilities },
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
  };
  return describeServer({ response: { result: discovered } }, undefined);
}

function describeStdout(hasStrayLines: boolean): CheckResult {
  return hasStrayLines
    ? warning("It prints lines that are no messages. They belong on stderr.")
    : ok("Nothing but messages.");
}

const none = () => Promise.reject(new Error("A program has no such requests."));

/** The requests about tools, sent by the product's own client. A program takes no others. */
function createProgramWire(connect: () => Promise<MCPClient>, signal?: AbortSignal): Wire {
  return {
    url: new URL("stdio:"),
    async post({ method, params = {} }) {
      const {
        cursor,
        name = "",
        arguments: args,
      } = params as {
        readonly cursor?: string;
        readonly name?: string;
        readonly arguments?: Record<string, unknown>;
      };
      const client = await connect();
      const options = { ...(signal && { signal }) };
      const result =
        method === "tools/list"
          ? await client.listTools({ params: { ...(cursor && { cursor }) }, options })
          : await client.callTool({ name, ...(args && { arguments: args }), options });
      const answer = { status: 200, headers: new Headers(), contentType: "stdio" };
      return { ...answer, body: "", words: "", response: { result }, eventIds: [] };
    },
    ...{ get: none, delete: none },
    until: (next) => createProgramWire(connect, next),
  };
}
