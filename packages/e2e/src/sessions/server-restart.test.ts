import { afterAll, beforeAll, describe, test } from "vitest";
import { useServer } from "../servers/use-server.ts";
import { withClients } from "../matrix/pairs.ts";
import { serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { expectOneNewSession, type RestartedServer, restartUnder } from "./restarted-server.ts";

describe.each(withClients(serversWithoutBrowser, { count: 2, third: 2 }))(
  "after a restart of $name",
  (stateful) => {
    const used = useServer(stateful.start);
    let restarted: RestartedServer;
    beforeAll(async () => {
      restarted = await restartUnder(stateful, used.server, stateful.clients);
    });
    afterAll(() => restarted?.[Symbol.asyncDispose]());

    test.each(stateful.clients)(
      "%s starts one new session for all calls in flight (S5, S58, S59)",
      async (client) => {
        await expectOneNewSession(restarted, client);
      },
    );
  },
);
