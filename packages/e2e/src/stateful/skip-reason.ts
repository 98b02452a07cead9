import type { StatefulServer } from "./stateful-servers.ts";

/** Says on the console why a server's tests are skipped; `false` when it can run. */
export function skipReason(server: StatefulServer): boolean {
  if (server.unavailable === undefined) return false;
  console.warn(`skipped: ${server.name}: ${server.unavailable}`);
  return true;
}
