import { packageManifest } from "../processes/package-bin.ts";
import { type ColdRow, type ColdWay, coldWayNames } from "./cold-steps.ts";
import { environment, table } from "./page-parts.ts";

const titles: Record<ColdWay, string> = {
  stateless: "stateless",
  stateful: '`session: "stateful"`',
  server: '`memory: "server"`',
  pinned: "`memory: { pinMs }`",
  "stateful, pinned": '`session: "stateful"`, `memory: { pinMs }`',
};

const heading = "## Requests of a cold step";

/** The part of the page about the requests that a call takes in a new process. */
export function renderColdSteps(rows: readonly ColdRow[], date: string): string {
  const ran = rows.filter(({ unavailable }) => unavailable === undefined);
  return [
    heading,
    "A process has the state that another one left, and nothing else. It lists the tools of a connection of `@durable-mcp/ai-sdk` and makes one call. The numbers are its HTTP requests on the wire, the call among them.",
    environment(date, [`@ai-sdk/mcp ${packageManifest("@ai-sdk/mcp").version}`]),
    '*stateless* keeps nothing. `"stateful"` keeps the session, or the handshake and the tools of servers without sessions. `memory: "server"` keeps what the server allows to keep; a server with `ttlMs: 0`, the default of the TypeScript SDK, allows nothing. `memory: { pinMs }` keeps it on the application\'s word. A server that gives session ids is for `session: "stateful"`. The servers of the last lines ask a person; the placeholder of the waiting call is the result.',
    table([
      ["server", ...coldWayNames.map((way) => titles[way])],
      ...ran.map(({ name, requests }) => [
        name,
        ...coldWayNames.map((way) => String(requests[way] ?? "")),
      ]),
    ]),
    rows
      .filter(({ unavailable }) => unavailable !== undefined)
      .map(({ name, unavailable }) => `- **${name}** did not run: ${unavailable}.`)
      .join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Puts that part in the place that it has in a page. */
export function replaceColdSteps(page: string, part: string): string {
  const rest = "\n## What does not work\n";
  const end = page.indexOf(rest);
  const start = page.indexOf(`\n${heading}\n`);
  if (end < 0)
    throw new Error("docs/reports/compatibility.md has no part about what does not work");
  return `${page.slice(0, start < 0 ? end : start)}\n${part}\n${page.slice(end)}`;
}
