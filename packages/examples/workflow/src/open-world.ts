import { createLocalWorld } from "@workflow/world-local";

/** Where the engine keeps its runs: a folder, or a PostgreSQL. */
export async function openWorld(place: string) {
  if (!place.startsWith("postgres")) return createLocalWorld({ dataDir: place });
  const { createWorld } = await import("@workflow/world-postgres");
  return createWorld({ connectionString: place });
}
