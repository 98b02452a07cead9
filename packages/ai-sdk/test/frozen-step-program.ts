// Lists the tools of a server and calls one, in two agent sessions, with a limit, and prints what it got.
import { createConnectionProvider, defineMcpClientConnection } from "../src/index.ts";

const [url = "", limit, session] = process.argv.slice(2);
const timeouts = { connectMs: Number(limit), callMs: Number(limit) };
const provider = createConnectionProvider({
  onEvent: (event) => {
    if (event.type === "unavailable") console.log(String(event.error));
  },
  connections: {
    notes: defineMcpClientConnection({
      ...{ url, description: "Notes.", timeouts },
      session: session === "stateful" ? "stateful" : "stateless",
    }),
  },
});
for (const at of ["first", "second"]) {
  await using registry = provider.create({ principal: { type: "app" } });
  const { notes__add: add } = await registry.tools();
  const result = await add?.execute?.({}, { toolCallId: at, messages: [], context: {} });
  console.log(at, result === undefined ? "has no tool" : "answered");
}
