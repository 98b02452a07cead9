import { describe, test } from "vitest";
import { withClients } from "../matrix/pairs.ts";
import { useServer } from "../servers/use-server.ts";
import { serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { expectOneSessionOverProcesses } from "./three-processes.ts";

describe.each(withClients(serversWithoutBrowser, { count: 4, third: 0 }))("$name", (stateful) => {
  const used = useServer(stateful.start);

  test.each(stateful.clients)(
    "%s keeps one session over three processes, one HTTP request per resumed call (S11, S12, S52, S56)",
    async (client) => {
      await expectOneSessionOverProcesses(stateful, used.proxy, client);
    },
  );
});
