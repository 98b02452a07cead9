import type { ConnectionEvent } from "./connection-event.ts";

/** The versions of `@ai-sdk/mcp` that the tests run with. */
const tested = ">=2.0.99 <3";

/** Says so when the client is of a version that was not tested. */
export function checkClientVersion(
  version: string,
  connection: string,
  emit: (event: ConnectionEvent) => void,
): void {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major === 2 && (minor > 0 || patch >= 99)) return;
  emit({ type: "peer-version", connection, package: "@ai-sdk/mcp", version, tested });
}
