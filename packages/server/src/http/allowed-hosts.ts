/** Why a request is refused. */
interface HostRefusal {
  readonly reason: "host" | "origin";
  readonly message: string;
}

export type CheckHost = (request: Request) => HostRefusal | undefined;

const localNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Against DNS rebinding: a page whose name was made to resolve to this machine still sends its own
 * name as `Host`, and its origin.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 */
export function createHostCheck({
  allowedHosts = localNames,
  allowedOrigins,
}: {
  allowedHosts?: readonly string[] | "any" | undefined;
  allowedOrigins?: readonly string[] | "any" | undefined;
}): CheckHost {
  return (request) => {
    const host = request.headers.get("host") ?? new URL(request.url).host;
    if (allowedHosts !== "any" && !matches(host, `http://${host}`, allowedHosts)) {
      const hint = allowedHosts === localNames ? " Name the server's hosts in allowedHosts." : "";
      return { reason: "host", message: `Forbidden: this Host is not allowed.${hint}` };
    }
    const origin = request.headers.get("origin");
    const origins = allowedOrigins ?? allowedHosts;
    if (origin === null || origins === "any" || matches(origin, origin, origins)) return undefined;
    const hint = origins === localNames ? " Name the pages' origins in allowedOrigins." : "";
    return { reason: "origin", message: `Forbidden: this Origin is not allowed.${hint}` };
  };
}

/** As it stands, or by its name or host without scheme. */
function matches(text: string, url: string, allowed: readonly string[]): boolean {
  const names = allowed.map((name) => name.toLowerCase());
  if (names.includes(text.toLowerCase())) return true;
  if (!URL.canParse(url)) return false;
  const { hostname, host } = new URL(url);
  return names.includes(hostname) || names.includes(host);
}
