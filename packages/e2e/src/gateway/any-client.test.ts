import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadClient, type McpTestClient } from "../clients/index.ts";
import { withClients } from "../matrix/pairs.ts";
import { useServer } from "../servers/use-server.ts";
import { type ExpectedCall, serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { balanced, startGateway } from "./gateway-process.ts";

/** A fetch that notes whether its client has a session. */
function watched(fetch: typeof globalThis.fetch) {
  const seen = { hasSession: false };
  const send: typeof fetch = async (input, init) => {
    seen.hasSession ||= new Headers(init?.headers).has("mcp-session-id");
    return await fetch(input, init);
  };
  return { seen, fetch: send };
}

/** Whether each answer has what was expected. */
async function answersOf(client: McpTestClient, calls: readonly ExpectedCall[]) {
  const answers: boolean[] = [];
  for (const { tool, args, expected } of calls) {
    const { text, isError } = await client.callTool(tool, args);
    expect(isError).toBe(false);
    answers.push(text.includes(expected));
  }
  return answers;
}

describe.each([1, 3])("through %d processes of a gateway", (count) => {
  describe.each(withClients(serversWithoutBrowser, { count: 2, third: 1 }))("$name", (stateful) => {
    const used = useServer(stateful.start);
    let gateway: Awaited<ReturnType<typeof startGateway>>;
    beforeAll(async () => {
      gateway = await startGateway({ server: used.server.url }, { processes: count });
    });
    afterAll(() => gateway?.stop());

    test.each(stateful.clients)(
      "%s has the same tools and answers as directly, over kills of the gateway and a restart of the server",
      async (name) => {
        // Some servers have one state for all clients.
        const [ownTag, tag] = [`direct${Math.random()}`, `tag${Math.random()}`];
        const connect = await loadClient(name);
        const directly = watched(globalThis.fetch);
        const direct = await connect({ url: used.server.url, fetch: directly.fetch });
        const tools = await direct.listTools();
        const made = await answersOf(direct, stateful.makeState(ownTag));
        const kept = await answersOf(direct, stateful.seeState(ownTag));
        await direct.close();
        // Where client and server speak revision 2026-07-28, there is no session to keep, and none to lose.
        const { hasSession } = directly.seen;
        expect([...made, ...kept].every(Boolean) || !hasSession).toBe(true);

        const { seen, fetch } = watched(balanced(gateway.processes));
        const client = await connect({ url: gateway.processes[0]!.urlOf("server"), fetch });
        expect(await client.listTools()).toEqual(tools);
        expect(await answersOf(client, stateful.makeState(tag))).toEqual(made);
        // Another process takes the place of each.
        for (const each of gateway.processes) await each.restart();
        expect(await answersOf(client, stateful.seeState(tag))).toEqual(kept);
        expect(seen.hasSession).toBe(hasSession);
        await used.server.restart();
        for (const isFirst of [true, false]) {
          const { tool, args, expected } = stateful.independentCall(tag, isFirst ? 1 : 2);
          const { text } = await client.callTool(tool, args);
          expect(text).toContain(expected);
          expect(text.includes("had forgotten this session")).toBe(isFirst && hasSession);
        }
        await client.close();
      },
    );
  });
});
