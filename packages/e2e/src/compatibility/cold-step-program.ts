/** A process of an application: takes one step on the state that it is given, makes one call, and ends. */
import {
  createConnectionProvider,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  type Principal,
} from "@durable-mcp/ai-sdk";
import type { StepCall } from "../steps/step-protocol.ts";

/** What a step is told. */
export interface ColdStep {
  url: string;
  options: Pick<McpClientConnectionOptions, "session" | "memory" | "waiting">;
  /** What the step before left. */
  state?: unknown;
  call: StepCall;
}

/** What the step came to: the result of its call, or its failure, and the state. */
export interface ColdStepEnd {
  outcome: string;
  state?: unknown;
}

/** Part of the result of a call that waits. */
const placeholder = "waits for the answer";

interface ToolResult {
  readonly content?: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

const principal: Principal = { type: "user", issuer: "https://idp.example", id: "ada" };

export default async function step(cold: ColdStep): Promise<ColdStepEnd> {
  return await run(cold).catch((error: unknown) => ({
    outcome: `broken: ${error instanceof Error ? error.message : String(error)}`,
  }));
}

async function run({ url, options, state, call }: ColdStep): Promise<ColdStepEnd> {
  const server = defineMcpClientConnection({ url, description: "A server.", ...options });
  const provider = createConnectionProvider({
    connections: { server },
    // One process at a time has the state.
    claim: () => true,
    onEvent: () => undefined,
  });
  const use = { session: { state }, principal, onUnavailable: "throw" } as const;
  const { result, session } = await provider.run(use, async (own) => {
    const { execute } = (await own.tools())[`server__${call.tool}`] as {
      execute: (input: unknown, use: object) => Promise<ToolResult>;
    };
    // A call that waits is known by its id.
    return await execute(call.args, { toolCallId: crypto.randomUUID(), messages: [] });
  });
  const text = result.content?.map((part) => part.text ?? "").join("\n") ?? "";
  const isRefused = result.isError === true && !text.includes(placeholder);
  return { outcome: isRefused ? `broken: ${text}` : text, state: session.state };
}
