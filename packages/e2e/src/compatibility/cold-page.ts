import { packageManifest } from "../processes/package-bin.ts";
import { type ColdRow, type ColdWay, coldWayNames } from "./cold-steps.ts";
import { environment, notRun, table } from "./page-parts.ts";

const titles: Record<ColdWay, string> = {
  stateless: "stateless",
  stateful: '`session: "stateful"`',
  server: '`memory: "server"`',
  pinned: "`memory: { pinMs }`",
  "stateful, pinned": '`session: "stateful"`, `memory: { pinMs }`',
};

/** The part of the page about the requests that a call takes in a new process. */
export function renderColdSteps(rows: readonly ColdRow[], date: string): string {
  const ran = rows.filter(({ unavailable }) => unavailable === undefined);
  return [
    "## Requests of a cold step",
    "A process has the state that another one left, and nothing else. It lists the tools of a connection of `@durable-mcp/ai-sdk` and makes one call. The numbers are its HTTP requests on the wire, the call among them.",
    environment(date, [`@ai-sdk/mcp ${packageManifest("@ai-sdk/mcp").version}`]),
    '*stateless* keeps nothing. Without a kept session, `@ai-sdk/mcp` at times opens its stream twice: one request more. `"stateful"` keeps the session, or the handshake and the tools of servers without sessions. `memory: "server"` keeps what the server allows to keep; a server with `ttlMs: 0`, the default of the TypeScript SDK, allows nothing. `memory: { pinMs }` keeps it on the application\'s word. A server that gives session ids is for `session: "stateful"`. The servers of the last lines ask a person; the placeholder of the waiting call is the result.',
    table([
      ["server", ...coldWayNames.map((way) => titles[way])],
      ...ran.map(({ name, requests }) => [
        name,
        ...coldWayNames.map((way) => String(requests[way] ?? "")),
      ]),
    ]),
    notRun(rows),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
