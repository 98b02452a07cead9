import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionEvent, createConnectionProvider } from "@durable-mcp/ai-sdk";
import {
  defineMcpStdioConnection,
  type McpStdioConnectionOptions,
} from "@durable-mcp/ai-sdk/stdio";
import type { ToolSet } from "ai";
import { expect, vi } from "vitest";
import { programArguments } from "../processes/programs.ts";

/** The processes that `start_processes` leaves running, and the server's own. */
export const processCount = 7;

/** How the fixture server is started: the command, its arguments, and the marker in them. */
export function stdioFixture(manner = "", wrapper: "none" | "sh" | "sh -c" = "none") {
  const marker = randomUUID();
  const server = new URL("../fixtures/stdio-server.ts", import.meta.url);
  const own = [...programArguments(server), marker, ...(manner === "" ? [] : [manner])];
  if (wrapper === "none") return { marker, command: process.execPath, args: own };
  // With a command after it the shell does not put the server in its own place.
  const line = [process.execPath, ...own].map((part) => `'${part}'`).join(" ");
  return {
    marker,
    command: "sh",
    args: ["-c", wrapper === "sh" ? `${line}; true` : `sh -c "${line}; true"; true`],
  };
}

/** Arguments as JSON in which the marker is not found, for a program that is not to be counted itself. */
export function hidden(args: readonly string[], marker: string): string {
  const escaped = Array.from(
    marker,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return JSON.stringify(args).replaceAll(marker, () => escaped.join(""));
}

/** A run with a fixture server as `fixture`, and what it reports. */
export function openFixture(
  options: Partial<McpStdioConnectionOptions> & { manner?: string } = {},
) {
  const { manner, ...definition } = options;
  const { marker, ...command } = stdioFixture(manner);
  const events: ConnectionEvent[] = [];
  const clientEvents: ConnectionEvent[] = [];
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        ...command,
        description: "A fixture.",
        ...definition,
        timeouts: { closeMs: 200, ...definition.timeouts },
      }),
    },
    // Those of clients apart, which each run has, and those of operations left out.
    onEvent: {
      every(event) {
        if (event.type === "client") clientEvents.push(event);
        else if (event.type !== "operation" && event.type !== "step-ended") events.push(event);
      },
    },
  });
  const registry = provider.create({});
  return {
    marker,
    provider,
    registry,
    events,
    clientEvents,
    takeEvents: () => events.splice(0),
    [Symbol.asyncDispose]: () => registry.dispose(),
  };
}

const hostileProgram = new URL("./hostile-server-program.ts", import.meta.url);

/** How the server is started that does what it is told to, and is behind no SDK. */
export function hostileCommand(argument: readonly string[] = []) {
  return {
    command: process.execPath,
    args: [...programArguments(hostileProgram), ...argument],
  };
}

/** A run with that server. */
export function openHostile(
  argument: readonly string[] = [],
  options: Parameters<typeof openFixture>[0] = {},
) {
  return openFixture({ ...hostileCommand(argument), ...options });
}

/** The same, once the server has listed its tools. */
export async function startHostile(options: Parameters<typeof openFixture>[0] = {}) {
  const fixture = openHostile([], options);
  return { ...fixture, tools: await fixture.registry.tools({ onUnavailable: "throw" }) };
}

/** Calls a tool as the agent loop does. */
export async function callTool(
  tools: ToolSet,
  tool: string,
  input: unknown = {},
  abortSignal?: AbortSignal,
): Promise<any> {
  const execute = tools[`fixture__${tool}`]?.execute;
  if (execute === undefined) throw new Error(`There is no tool ${tool}.`);
  return await execute(input, {
    toolCallId: "call-1",
    messages: [],
    context: {},
    ...(abortSignal && { abortSignal }),
  });
}

/** Calls a tool and gives the text of its result. */
export async function callForText(tools: ToolSet, tool: string, input?: unknown): Promise<string> {
  const { content } = await callTool(tools, tool, input);
  return content[0].text as string;
}

/** Calls a tool and gives the texts that the model sees as its result. */
export async function callForModel(tools: ToolSet, tool: string): Promise<string[]> {
  const output: unknown = await callTool(tools, tool);
  const { toModelOutput } = tools[`fixture__${tool}`]!;
  const seen: any = await toModelOutput!({ toolCallId: "call-1", input: {}, output });
  return seen.value.map((part: { text: string }) => part.text);
}

type Fixture = ReturnType<typeof openFixture>;

/** Kills the server and waits until the run knows. */
export async function killServer({ events }: Fixture, pid: string): Promise<void> {
  const before = events.length;
  process.kill(Number(pid), "SIGKILL");
  await vi.waitFor(() => expect(events.slice(before).map(({ type }) => type)).toContain("lost"), {
    timeout: 10_000,
  });
}

/** Runs `use` with a folder that is removed afterwards. */
export async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-stdio-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
