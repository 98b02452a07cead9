import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadClient } from "../clients/index.ts";
import { withClients } from "../matrix/pairs.ts";
import { useServer } from "../servers/use-server.ts";
import { type ExpectedCall, serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { balanced, startGateway } from "./gateway-process.ts";

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
        const tag = `tag${Math.random()}`;
        const connect = await loadClient(name);
        const direct = await connect({ url: used.server.url, fetch: globalThis.fetch });
        const tools = await direct.listTools();
        await direct.close();
        const [first] = gateway.processes;
        const fetch = balanced(gateway.processes);
        const client = await connect({ url: first!.urlOf("server"), fetch });
        const expectAnswer = async ({ tool, args, expected }: ExpectedCall) => {
          const { text, isError } = await client.callTool(tool, args);
          expect(isError).toBe(false);
          expect(text).toContain(expected);
          return text;
        };
        expect(await client.listTools()).toEqual(tools);
        for (const call of stateful.makeState(tag)) await expectAnswer(call);
        // Another process takes the place of each.
        for (const each of gateway.processes) await each.restart();
        for (const call of stateful.seeState(tag)) await expectAnswer(call);
        await used.server.restart();
        const after = await client.callTool(
          stateful.independentCall(tag, 1).tool,
          stateful.independentCall(tag, 1).args,
        );
        expect(after.text).toContain(stateful.independentCall(tag, 1).expected);
        expect(after.text).toContain("had forgotten this session");
        expect(await expectAnswer(stateful.independentCall(tag, 2))).not.toContain("forgotten");
        await client.close();
      },
    );
  });
});
