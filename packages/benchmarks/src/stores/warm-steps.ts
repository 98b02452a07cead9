import { createMCPClient, type MCPClient } from "@ai-sdk/mcp";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";

/** One step: connect, take the tools, call one, close. It gives what the tool said. */
export type WarmStep = () => Promise<string>;

const call = { toolCallId: "call-1", messages: [], context: {} };

/** Steps of one chat in one process, on a store. */
export function createDurableStep(url: string, store: SessionStore): WarmStep {
  const counter = defineMcpClientConnection({ url, description: "Counts.", session: "stateful" });
  const sessions = createDurableSessions({ connections: { counter }, store });
  return () =>
    sessions.run("chat", { principal: { type: "app" } }, async (run) =>
      textOf(await (await run.tools())["counter__count"]!.execute!({}, call)),
    );
}

/**
 * Steps with all that the client's own session options can carry over: the id, the handshake's result and the
 * definitions of the tools. The application keeps them, here in memory.
 */
export function createOwnSessionStep(url: string): WarmStep {
  let kept: {
    sessionId?: string;
    initializeResult?: MCPClient["initializeResult"];
    definitions?: Awaited<ReturnType<MCPClient["listTools"]>>;
  } = {};
  return async () => {
    let { sessionId } = kept;
    const { initializeResult } = kept;
    const client = await createMCPClient({
      transport: {
        ...{ type: "http", url, terminateSessionOnClose: false },
        ...(sessionId && { initialSessionId: sessionId }),
        ...(initializeResult && { initialProtocolVersion: initializeResult.protocolVersion }),
        onSessionIdChange: (id) => void (sessionId = id),
      },
      ...(initializeResult && { initialInitializeResult: initializeResult }),
    });
    const definitions = kept.definitions ?? (await client.listTools());
    const said = textOf(await client.toolsFromDefinitions(definitions)["count"]!.execute({}, call));
    kept = {
      ...(sessionId !== undefined && { sessionId }),
      initializeResult: client.initializeResult,
      definitions,
    };
    await client.close();
    return said;
  };
}

/** @param leavesSession whether the client does not end the session that it has made */
export function createBareStep(url: string, leavesSession: boolean): WarmStep {
  return async () => {
    const client = await createMCPClient({
      transport: { type: "http", url, terminateSessionOnClose: !leavesSession },
    });
    const tools = await client.tools();
    const said = textOf(await tools["count"]!.execute({}, call));
    await client.close();
    return said;
  };
}

function textOf(result: unknown): string {
  return (result as { content: [{ text: string }] }).content[0].text;
}
