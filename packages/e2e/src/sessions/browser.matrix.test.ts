import { afterAll, beforeAll, describe, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { useServer } from "../servers/use-server.ts";
import { playwright } from "../stateful/stateful-servers.ts";
import { expectOneNewSession, type RestartedServer, restartUnder } from "./restarted-server.ts";
import { expectOneSessionOverProcesses } from "./three-processes.ts";

// A session is a browser here, and slow: CI has every second client.
const isInCi = process.env["CI"] === "true";
const clients = clientNames.filter((_, index) => !isInCi || index % 2 === 0);

if (playwright.unavailable !== undefined) console.warn(`skipped: ${playwright.unavailable}`);

describe.skipIf(playwright.unavailable !== undefined)("@playwright/mcp", () => {
  const used = useServer(playwright.start);

  test.each(clients)(
    "%s keeps one session over three processes, one HTTP request per resumed call (S11, S12, S52, S56)",
    async (client) => {
      await expectOneSessionOverProcesses(playwright, used.proxy, client);
    },
  );

  describe("after a restart", () => {
    let restarted: RestartedServer;
    beforeAll(async () => {
      restarted = await restartUnder(playwright, used.server, clients);
    });
    afterAll(() => restarted?.[Symbol.asyncDispose]());

    test.each(clients)(
      "%s starts one new session for all calls in flight (S5, S58, S59)",
      async (client) => {
        await expectOneNewSession(restarted, client);
      },
    );
  });
});
