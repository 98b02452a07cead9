import { startFixtureServer } from "../servers/fixture-server.ts";
import { startSdkV2ModernOnlyServer, startSdkV2StatelessServer } from "../servers/sdk-v2.ts";
import {
  echoCall,
  notebookLike,
  onlyTheSession,
  statefulServers,
} from "../stateful/stateful-servers.ts";
import { type MatrixServer, notFound, same } from "./matrix-server.ts";

type MatrixPart = Pick<MatrixServer, "packages" | "refusals" | "note">;

const sdkV1 = ["@modelcontextprotocol/sdk"];
const sdkV2 = ["@modelcontextprotocol/server", "@modelcontextprotocol/node"];
const notebook: MatrixPart = {
  packages: sdkV1,
  refusals: same('404, application/json: "Session not found: <id>"'),
  note: "ours: a transport per session",
};

/** What the matrix must know of the servers that the other tests use as well. */
const known: Record<string, MatrixPart> = {
  "server-everything": {
    packages: ["@modelcontextprotocol/server-everything"],
    refusals: same('400, application/json: "Bad Request: No valid session ID provided"'),
  },
  "@playwright/mcp": {
    packages: ["@playwright/mcp"],
    refusals: same('404, none: "Session not found"'),
  },
  "mcp-proxy + server-memory": {
    packages: ["mcp-proxy", "@modelcontextprotocol/server-memory"],
    refusals: notFound,
  },
  "SDK v1 simpleStreamableHttp": {
    packages: sdkV1,
    refusals: notFound,
    note: "the SDK's own example",
  },
  "SDK v2 with isLegacyRequest": {
    packages: sdkV2,
    refusals: notFound,
    note: "ours: both eras, a transport per session for the old one",
  },
  "notebook (SSE)": notebook,
  "notebook (JSON)": notebook,
};

const withoutSessions = onlyTheSession((tag, n) => echoCall(`${tag}-${n}.`));

/** The servers that come with the dependencies of this package. */
export const presentServers: MatrixServer[] = [
  ...statefulServers.map((server) => ({
    ...server,
    kind: "sessions" as const,
    packages: [],
    ...known[server.name],
  })),
  {
    ...notebookLike("SDK v1, one transport", () =>
      startFixtureServer("SDK v1, one transport", "sdk-v1-single-transport-server.ts"),
    ),
    kind: "one session",
    packages: sdkV1,
    note: "ours: one transport for the whole process",
    // Once it is ended, it answers 404 to everything.
    exceptions: { "ended by someone else": { "*": "SESSION_LOST" } },
    refusals: {
      ...notFound,
      restarted: '400, application/json: "Bad Request: Server not initialized"',
    },
  },
  {
    ...notebookLike("SDK v2 createMcpHandler", startSdkV2StatelessServer),
    ...withoutSessions,
    kind: "no sessions",
    packages: sdkV2,
    note: "ours: both eras",
  },
  {
    ...notebookLike("SDK v2 modern only", startSdkV2ModernOnlyServer),
    ...withoutSessions,
    kind: "modern only",
    packages: sdkV2,
    note: "ours: 2026-07-28 only",
  },
];
