import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import type { DatabaseServer } from "../../../stores/test/start-server.ts";
import type { ServerKind } from "./server-kinds.ts";

/** Starts the databases that are needed, one of each kind, in folders of their own. */
export interface StorePlaces {
  /** A path or a port, as the measured programs take it; a file is a new one each time. */
  readonly placeFor: (kind: ServerKind) => Promise<string>;
  /** Ends the databases and deletes their data. */
  readonly remove: () => Promise<void>;
}

const databases = {
  redis: () => startRedis("--appendfsync", "everysec"),
  // The server of the tests has `fsync` off.
  "postgres-off": () => startPostgres("fsync=on", "synchronous_commit=off"),
  "postgres-on": () => startPostgres("fsync=on", "synchronous_commit=on"),
};

const extraFolder = new URL("../../../e2e/compatibility/", import.meta.url);

/** Why a server cannot be measured on this machine; `undefined` when it can. */
export function unavailable({ place, needs }: ServerKind): string | undefined {
  if (needs && !existsSync(new URL(`node_modules/${needs}`, extraFolder))) {
    return "npm ci --ignore-scripts was not run in packages/e2e/compatibility";
  }
  if (place === "redis") return redisUnavailable;
  return place?.startsWith("postgres-") ? postgresUnavailable : undefined;
}

export function createStorePlaces(): StorePlaces {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-load-"));
  const started = new Map<string, Promise<DatabaseServer>>();
  let files = 0;
  return {
    async placeFor({ place }) {
      if (place === undefined) return "";
      if (place === "file") return join(folder, `sessions-${++files}.db`);
      if (!started.has(place)) started.set(place, databases[place]());
      return String((await started.get(place)!).port);
    },
    async remove() {
      for (const server of started.values()) await (await server).remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
