/** A server to measure. */
export interface ServerKind {
  /** In tables. */
  readonly title: string;
  readonly program: string;
  /** What the program is told to keep its sessions in. */
  readonly kept: string;
  /** Where that is, for `store-places.ts`. */
  readonly place?: "file" | "redis" | "postgres-off" | "postgres-on";
  /** It has no store of ours. */
  readonly isSdk?: true;
  /** Further figures have no row of this one: its program does the same as another's, with another setting. */
  readonly isVariant?: true;
}

const session = "./session-server-program.ts";
const sdk = "./sdk-server-program.ts";

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
  memory: { title: "memory", program: session, kept: "memory" },
  "sqlite-normal": {
    title: "SQLite, `synchronous = NORMAL`",
    program: session,
    kept: "sqlite-normal",
    place: "file",
  },
  "sqlite-full": {
    title: "SQLite, as it comes (`FULL`)",
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
    title: "PostgreSQL, `synchronous_commit = off`",
    program: session,
    kept: "postgres",
    place: "postgres-off",
  },
  "postgres-on": {
    title: "PostgreSQL, `synchronous_commit = on`",
    program: session,
    kept: "postgres",
    place: "postgres-on",
    isVariant: true,
  },
} satisfies Record<string, ServerKind>;

export const serverKinds: Readonly<Record<ServerName, ServerKind>> = kinds;
