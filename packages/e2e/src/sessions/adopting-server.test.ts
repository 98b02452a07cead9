import { createFaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { share } from "../matrix/pairs.ts";
import { type FixtureServer, startFixtureServer } from "../servers/fixture-server.ts";
import { runStep } from "../steps/run-step.ts";

const timeout = 60_000;
const add = (text: string) => ({ tool: "add_note", args: { text } });
const list = { tool: "list_notes", args: {} };

// A server of `@durable-mcp/server` with `unknownSession: "adopt"`. After a restart it takes any id.
describe("a restarted server that adopts unknown sessions", () => {
  let server: FixtureServer;
  beforeAll(async () => {
    server = await startFixtureServer("adopting", "adopting-server.ts");
  }, timeout);
  afterAll(() => server?.stop());

  test.each(share(clientNames, 1))(
    "%s goes on in the session that its first answer names, in this step and the next",
    { timeout },
    async (client) => {
      const proxy = await createFaultyProxy({ target: server.url });
      try {
        const first = await runStep({ client, url: proxy.url, list: true, calls: [add("a")] });
        await server.restart();
        const { snapshot } = first;
        const second = await runStep({ client, url: proxy.url, snapshot, calls: [add("b"), list] });
        expect(second.error).toBeUndefined();
        expect(second.results.at(-1)?.text).toBe("b");
        expect(second.snapshot).toMatchObject({ kind: "session", replacesLost: true });

        proxy.requests.splice(0);
        const later = { client, url: proxy.url, snapshot: second.snapshot };
        const third = await runStep({ ...later, calls: [add("c"), list] });
        expect(third.results.at(-1)?.text).toBe("b\nc");
        expect(proxy.requests.splice(0)).toHaveLength(2);
      } finally {
        await proxy.close();
      }
    },
  );
});
