import type { ConnectionEvent } from "../events/connection-event.ts";

/** The versions of `@ai-sdk/mcp` that the tests run with. */
const tested = ">=2.0.99 <3";

/**
 * The fetch for a connection's own client. Emits `peer-version` once, if the client's user agent says
 * that its version was not tested. It stands before the session fetch, which answers a resumed
 * client's handshake itself.
 */
export function watchClientVersion(
  fetch: typeof globalThis.fetch,
  connection: string,
  emit: (event: ConnectionEvent) => void,
): typeof globalThis.fetch {
  let isKnown = false;
  return async (input, init) => {
    const version = isKnown ? undefined : clientVersion(init?.headers);
    if (version !== undefined) {
      isKnown = true;
      if (!isTested(version)) {
        emit({ type: "peer-version", connection, package: "@ai-sdk/mcp", version, tested });
      }
    }
    return await fetch(input, init);
  };
}

function clientVersion(headers: RequestInit["headers"]): string | undefined {
  const userAgent = new Headers(headers).get("user-agent") ?? "";
  const version = /\bai-sdk\/(\d+\.\d+\.\d+)/.exec(userAgent)?.[1];
  // Builds of version 1 say this of every release. The tested ones say their version.
  return version === "0.0.0" ? "unknown" : version;
}

function isTested(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return major === 2 && (minor > 0 || patch >= 99);
}
