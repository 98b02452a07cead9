/** A server to measure. */
export interface ServerKind {
  /** In tables. */
  readonly title: string;
  readonly program: string;
  /** What the program is told to keep its sessions in. */
  readonly kept: string;
  /** Where that is, for `store-places.ts`. */
  readonly place?: "file" | "redis" | "postgres-off" | "postgres-on";
  /** A package of packages/e2e/compatibility, which has a lock file of its own. Its program has `greet` alone. */
  readonly needs?: string;
  /** It has no store of ours. */
  readonly isSdk?: true;
  /** Further figures have no row of this one: its program does the same as another's, with another setting. */
  readonly isVariant?: true;
}

const session = "./session-server-program.ts";
const sdk = "./sdk-server-program.ts";
const extra = "../../../e2e/compatibility/servers";

export type ServerName = keyof typeof kinds;

/** What the others are compared with. */
export const base: ServerName = "sdk";

const kinds = {
  sdk: { title: "SDK", program: sdk, kept: "none", isSdk: true },
  "sdk-again": {
    title: "SDK, once more",
    program: sdk,
    kept: "none",
    isSdk: true,
    isVariant: true,
  },
  "sdk-events": {
    title: "SDK with its event store",
    program: sdk,
    kept: "events",
    isSdk: true,
  },
  "sdk-v2": {
    title: "SDK v2",
    program: "./sdk-v2-server-program.ts",
    kept: "none",
    isSdk: true,
    isVariant: true,
  },
  fastmcp: {
    title: "fastmcp",
    program: `${extra}/fastmcp-load-server.mjs`,
    kept: "none",
    isSdk: true,
    isVariant: true,
    needs: "fastmcp",
  },
  "mcp-handler": {
    title: "mcp-handler (no sessions)",
    program: `${extra}/mcp-handler-load-server.mjs`,
    kept: "none",
    isSdk: true,
    isVariant: true,
    needs: "mcp-handler",
  },
  memory: { title: "memory", program: session, kept: "memory" },
  "sqlite-normal": {
    title: "SQLite, `synchronous = NORMAL`",
    program: session,
    kept: "sqlite-normal",
    place: "file",
  },
  "sqlite-full": {
    title: "SQLite, `synchronous = FULL`, as it comes",
    program: session,
    kept: "sqlite-full",
    place: "file",
    isVariant: true,
  },
  redis: {
    title: "Redis, `appendfsync everysec`",
    program: session,
    kept: "redis",
    place: "redis",
  },
  "postgres-off": {
    title: "PostgreSQL, `synchronous_commit = off`, `fsync = on`",
    program: session,
    kept: "postgres",
    place: "postgres-off",
  },
  "postgres-on": {
    title: "PostgreSQL, `synchronous_commit = on`, `fsync = on`",
    program: session,
    kept: "postgres",
    place: "postgres-on",
    isVariant: true,
  },
} satisfies Record<string, ServerKind>;

export const serverKinds: Readonly<Record<ServerName, ServerKind>> = kinds;
