import { afterAll, beforeAll, describe, test } from "vitest";
import type { TestServer } from "../servers/server-process.ts";
import { withClients } from "../matrix/pairs.ts";
import { serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { expectOneNewSession, type RestartedServer, restartUnder } from "./restarted-server.ts";

describe.each(withClients(serversWithoutBrowser, { count: 2, third: 2 }))(
  "after a restart of $name",
  (stateful) => {
    let server: TestServer;
    let restarted: RestartedServer;
    beforeAll(async () => {
      server = await stateful.start();
      restarted = await restartUnder(stateful, server, stateful.clients);
    }, 90_000);
    afterAll(async () => {
      await restarted?.[Symbol.asyncDispose]();
      await server?.stop();
    });

    test.each(stateful.clients)(
      "%s starts one new session for all calls in flight (S5, S58, S59)",
      { timeout: 60_000 },
      async (client) => {
        await expectOneNewSession(restarted, client);
      },
    );
  },
);
