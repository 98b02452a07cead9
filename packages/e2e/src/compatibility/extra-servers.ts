import { startNotebookProgram } from "../servers/fixture-server.ts";
import { packageBin, packageFile } from "../processes/package-bin.ts";
import { startServerProcess } from "../servers/server-process.ts";
import {
  digits,
  echoCall,
  type ExpectedCall,
  notebookLike,
  onlyTheSession,
  type StatefulServer,
} from "../stateful/stateful-servers.ts";
import { type ColdServer, coldWayNames } from "./cold-steps.ts";
import { extraPackages, extraProgram } from "./extra-packages.ts";
import { type MatrixServer, notFound, same } from "./matrix-server.ts";
import {
  nativeUnavailable,
  startCortexServer,
  startCronServer,
  startNomadServer,
} from "./native-servers.ts";

const onLinux = nativeUnavailable === undefined ? {} : { unavailable: nativeUnavailable };

/** The servers that `npm run lab -- compatibility` installs for itself. */
export const extraServers: MatrixServer[] = [
  {
    ...program("fastmcp", "fastmcp-server.mjs"),
    refusals: notFound,
    kind: "sessions",
    packages: ["fastmcp"],
  },
  {
    ...notebookLike("supergateway --stateful", () => startSupergateway()),
    refusals: notFound,
    kind: "sessions",
    packages: ["supergateway"],
    note: "our notebook over stdio behind it, a process per session",
  },
  {
    ...program("@hono/mcp, one transport", "hono-server.mjs"),
    refusals: {
      unknown: notFound.unknown,
      ended: '500, text/plain: "Internal Server Error"',
      restarted: '400, application/json: "Bad Request: Server not initialized"',
    },
    exceptions: { "ended by someone else": { "*": "HTTP 500" } },
    kind: "one session",
    packages: ["@hono/mcp"],
  },
  {
    ...program("mcp-framework", "mcp-framework-server.mjs"),
    ...onlyTheSession((tag, n) => echoCall(`${tag}-${n}.`)),
    refusals: same('404, none: "Session not found"'),
    kind: "sessions",
    packages: ["mcp-framework"],
    note: "its tools are not told their session",
  },
  {
    ...program("tmcp", "tmcp-server.mjs"),
    refusals: same("200: accepted"),
    kind: "ids unchecked",
    packages: ["tmcp", "@tmcp/transport-http"],
  },
  {
    ...program("mcp-handler", "mcp-handler-server.mjs"),
    ...onlyTheSession((tag, n) => echoCall(`${tag}-${n}.`)),
    kind: "no sessions",
    packages: ["mcp-handler"],
  },
  {
    ...program("elysia-mcp", "elysia-server.mjs", () =>
      packageFile("@oven/bun-linux-x64", "bin/bun", extraPackages),
    ),
    ...onLinux,
    refusals: notFound,
    kind: "unreadable",
    packages: ["elysia-mcp", "@oven/bun-linux-x64"],
    note: "runs on bun; the data of its events starts with `event: message` and is no JSON",
  },
  {
    name: "Go SDK (mcp-cron)",
    start: startCronServer,
    ...onLinux,
    ...onlyTheSession((tag, n) => query(`'${tag}-${n}.'`, `${tag}-${n}.`)),
    slowCall: (tag, n, delayMs) => {
      // It counts to this number, about three million a second.
      const rows = `SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ${delayMs * 3_000}`;
      const answer = `${tag}-${n}.`;
      return query(`'${answer}', count(*)`, answer, `WITH RECURSIVE c(x) AS (${rows}) `, " FROM c");
    },
    refusals: same('404, text/plain: "session not found"'),
    kind: "sessions",
    packages: ["mcp-cron-linux-amd64"],
  },
  {
    name: "mcp-go (mcp-nomad)",
    start: startNomadServer,
    ...onLinux,
    ...onlyTheSession((tag, n) => ({
      tool: "get_job",
      args: { job_id: `${tag}-${n}` },
      expected: `${tag}-${n}"`,
    })),
    refusals: same("200: accepted"),
    kind: "ids unchecked",
    packages: ["@kocierik/mcp-nomad-linux-x64"],
    note: "mark3labs/mcp-go 0.56.0; the cluster behind it is a stand-in",
  },
  {
    name: "Rust rmcp (cortex-mcp)",
    start: startCortexServer,
    ...onLinux,
    ...onlyTheSession((tag, n) => addOneDay(digits(tag) * 1_000 + n)),
    refusals: same('404, none: "Not Found: Session not found"'),
    kind: "sessions",
    packages: ["@temporal-cortex/cortex-mcp-linux-x64"],
  },
];

/** Servers of which nothing but a cold step is of interest: they give no session, and know no newer revision. */
export const withoutIds: ColdServer[] = [
  program("fastmcp, stateless", "fastmcp-server.mjs", undefined, ["--stateless"]),
  notebookLike("supergateway, stateless", () => startSupergateway([])),
].map(({ name, start, independentCall }) => ({
  ...{ name, start, call: independentCall("cold", 1), options: {} },
  ...{ ways: coldWayNames, single: ["stateful", "server", "pinned", "stateful, pinned"] },
}));

/** A notebook server of ours on somebody else's framework. */
function program(
  name: string,
  file: string,
  runtime?: () => string,
  options: readonly string[] = [],
): StatefulServer {
  return notebookLike(name, () =>
    startNotebookProgram({
      name,
      args: [
        ...(runtime || process.features.typescript ? [] : ["--experimental-strip-types"]),
        extraProgram(file),
        ...options,
      ],
      ...(runtime && { program: runtime() }),
    }),
  );
}

function startSupergateway(sessions = ["--stateful"]) {
  const stdio = `${process.execPath} ${extraProgram("stdio-notebook-server.mjs")}`;
  return startServerProcess({
    name: "supergateway",
    args: (port) => [
      packageBin("supergateway", extraPackages),
      ...["--stdio", stdio, "--outputTransport", "streamableHttp", ...sessions],
      ...["--port", String(port)],
    ],
  });
}

function query(columns: string, expected: string, before = "", after = ""): ExpectedCall {
  const sql = `${before}SELECT ${columns} AS answer${after}`;
  return { tool: "query_task_result", args: { sql }, expected };
}

function addOneDay(seconds: number): ExpectedCall {
  const at = (day: number) =>
    new Date(Date.UTC(2026, 0, day) + seconds * 1_000).toISOString().slice(0, 19);
  return {
    tool: "adjust_timestamp",
    args: { datetime: `${at(1)}Z`, adjustment: "+1d" },
    expected: at(2),
  };
}
