import { expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { share } from "../matrix/pairs.ts";
import { startFixtureServer } from "../servers/fixture-server.ts";
import { useServer } from "../servers/use-server.ts";
import { runStep } from "../steps/run-step.ts";

const add = (text: string) => ({ tool: "add_note", args: { text } });
const list = { tool: "list_notes", args: {} };

// A server of `@durable-mcp/server` with `unknownSession: "adopt"`. After a restart it takes any id.
const adopting = useServer(() => startFixtureServer("adopting", "adopting-server.ts"));

test.each(share(clientNames, 1))(
  "on a restarted server that adopts unknown sessions, %s goes on in the one that its first answer names",
  async (client) => {
    const { server, proxy } = adopting;
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
  },
);
