import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { Step } from "./contenders.ts";

type ConnectionOptions = Parameters<typeof defineMcpClientConnection>[0];
/** What the connection of a step says beside its address. */
type Kind = Omit<ConnectionOptions, "url" | "description">;

/** Longer than any step between two steps, in milliseconds. */
const pinMs = 3_600_000;

/** The same step with a connection of ours, which a state in JSON carries from one to the next. */
export const ourSteps: Readonly<Record<string, Step>> = {
  "ours, stateless": createStep({}),
  "ours, stateless, memory": createStep({ memory: "server" }),
  "ours, stateless, pinned memory": createStep({ memory: { pinMs } }),
  "ours, stateful": createStep({ session: "stateful" }),
};

function createStep(kind: Kind): Step {
  return async (url, saved) => {
    const server = defineMcpClientConnection({
      ...{ url, description: "Counts.", toolNames: { prefix: false } },
      ...kind,
    });
    const provider = createConnectionProvider({ connections: { server } });
    const { result, session } = await provider.run(
      { session: { state: saved ?? {} }, principal: { type: "anonymous" } },
      async (run) =>
        (await run.tools())["count"]!.execute!(
          {},
          { toolCallId: "1", messages: [], context: {} },
        ) as Promise<unknown>,
    );
    await provider.shutdown();
    return { result, saved: session.state };
  };
}
