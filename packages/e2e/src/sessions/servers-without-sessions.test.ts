import { describe, expect, test } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import { isMatrix } from "../matrix/pairs.ts";
import { runStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import { startSdkV2ModernOnlyServer, startSdkV2StatelessServer } from "../servers/sdk-v2.ts";
import { useServer } from "../servers/use-server.ts";

const probingClients: ClientName[] = ["@ai-sdk/mcp 2", "@modelcontextprotocol/client 2 (auto)"];
const otherClients = clientNames.filter((name) => !probingClients.includes(name));
/** In `npm test` one of each. */
const some = (clients: ClientName[]) => (isMatrix ? clients : clients.slice(0, 1));
const calls = [{ tool: "echo", args: { text: "hello" } }];

describe("a server of both eras that gives no session", () => {
  const used = useServer(startSdkV2StatelessServer);

  test.each([...some(probingClients), ...some(otherClients)])(
    "%s works over three processes and keeps no session, but its handshake (S52)",
    async (client) => {
      const { proxy } = used;
      proxy.requests.splice(0);
      let snapshot: unknown;
      for (let step = 1; step <= 3; step += 1) {
        const run = await runStep({ client, url: proxy.url, list: true, snapshot, calls });
        expect(run.error).toBeUndefined();
        expect(run.results.map((result) => result.text)).toEqual(["hello"]);
        expect(run.tools).toContain("echo");
        expect(sessionIdOf(run.snapshot) === undefined).toBe(true);
        snapshot = run.snapshot;
      }
      const requests = proxy.requests.splice(0);
      expect(requests.filter((request) => request.headers.has("mcp-session-id"))).toEqual([]);
      // The second and the third process only send their call.
      const sent = requests.map((request) => request.rpcMethod);
      expect(sent.slice(-3)).toEqual(["tools/call", "tools/call", "tools/call"]);
      expect(sent.filter((method) => method === "initialize")).toHaveLength(1);
    },
  );
});

describe("a server that only speaks the new era", () => {
  const used = useServer(startSdkV2ModernOnlyServer);

  test.each(some(probingClients))(
    "%s works without a session and remembers it (M5, M12)",
    async (client) => {
      const { proxy } = used;
      proxy.requests.splice(0);
      const first = await runStep({ client, url: proxy.url, list: true, calls });
      expect(first.error).toBeUndefined();
      expect(first.results.map((result) => result.text)).toEqual(["hello"]);
      expect(first.snapshot).toMatchObject({ kind: "stateless" });
      expect(
        proxy.requests.splice(0).filter((request) => request.rpcMethod === "initialize"),
      ).toHaveLength(1);

      const second = await runStep({
        client,
        url: proxy.url,
        list: true,
        snapshot: first.snapshot,
        calls,
      });
      expect(second.error).toBeUndefined();
      expect(second.results.map((result) => result.text)).toEqual(["hello"]);
      const requests = proxy.requests.splice(0);
      expect(
        requests.filter(
          (request) => request.rpcMethod === "initialize" || request.headers.has("mcp-session-id"),
        ),
      ).toEqual([]);
    },
  );

  test.each(some(otherClients))(
    "%s, which never probes, fails and says why (M5)",
    async (client) => {
      const run = await runStep({ client, url: used.server.url, calls });
      expect(run.results).toEqual([]);
      expect(`${String(run.error?.code)} ${run.error?.message}`).toMatch(/-32022|2026-07-28/);
      expect(sessionIdOf(run.snapshot) === undefined).toBe(true);
    },
  );
});
