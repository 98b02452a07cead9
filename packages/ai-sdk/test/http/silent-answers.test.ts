import { expect, test } from "vitest";
import { shortenLimits } from "../../../core/test/short-limits.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";

const modes = ["stateless", "stateful"] as const;

/** Calls a tool whose answer comes after a second, where Node's own limits are shorter. */
async function callSlowTool(
  session: (typeof modes)[number],
  timeouts: McpClientConnectionOptions["timeouts"],
) {
  const server = await startNotebookServer();
  server.intercept(
    on("tools/call", async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, 1_000);
      });
      return "next" as const;
    }),
  );
  const { url } = server;
  const slow = defineMcpClientConnection({ url, description: "A server.", session, timeouts });
  let outcome: unknown;
  await startApplication({ slow }).step({}, async (registry) => {
    const tools = await registry.tools();
    using _ = shortenLimits();
    outcome = await callTool(tools, "slow__add_note", { text: "a" }).catch((error) => error);
  });
  return { outcome, server };
}

test.each(modes)(
  "a %s connection waits as long as it says, whatever Node's fetch would do",
  async (mode) => {
    const { outcome } = await callSlowTool(mode, { callMs: false, answerMs: 900_000 });
    expect(outcome).toMatchObject({ content: [{ type: "text" }] });
  },
);

test.each(modes)("without such a limit a %s connection leaves Node's in place", async (mode) => {
  const { outcome, server } = await callSlowTool(mode, undefined);
  expect(outcome).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(server.log.filter((entry) => entry === "POST tools/call")).toHaveLength(1);
});
