import { describe, expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { isMatrix, withClients } from "../matrix/pairs.ts";
import { runStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";

const die = { tool: "die_midway", args: { afterMs: 100 } };

const dialects = [
  { answers: "SSE", json: false },
  { answers: "JSON", json: true },
];

describe.each(withClients(dialects))(
  "a server with $answers answers that dies while a tool runs",
  ({ json, clients }) => {
    const notebook = useServer(() => startNotebookServer({ json }));

    test.each(isMatrix ? clientNames : clients.slice(0, 1))(
      "fails the call of %s, which neither hangs nor is sent again; the next step recovers (S31, S59)",
      async (client) => {
        const { server, proxy } = notebook;
        const step = { client, url: proxy.url, list: true };
        const first = await runStep({ ...step, calls: [die], callTimeoutMs: 10_000 });
        expect(first.error).toBeUndefined();
        expect(first.results[0]?.hung).toBeUndefined();
        expect(first.results[0]?.error).toBeDefined();
        expect(
          proxy.requests.splice(0).filter((request) => request.tool === "die_midway"),
        ).toHaveLength(1);

        await server.restart();
        const calls = [{ tool: "echo", args: { text: "alive" } }];
        const second = await runStep({ ...step, snapshot: first.snapshot, calls });
        expect(second.error).toBeUndefined();
        expect(second.results[0]?.text).toBe("alive");
        expect(sessionIdOf(second.snapshot) === sessionIdOf(first.snapshot)).toBe(false);
        proxy.requests.splice(0);
      },
    );
  },
);
