import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A store that several processes may open. */
export interface TestStore {
  /** As the example server's command line takes it. */
  readonly location: string;
  readonly close: () => Promise<void>;
}

export async function openTestStore(kind: string): Promise<TestStore> {
  if (kind !== "sqlite") throw new Error(`There is no store named ${kind}.`);
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-"));
  return {
    location: join(folder, "sessions.db"),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
