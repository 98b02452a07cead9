/** Why a request is refused. */
interface HostRefusal {
  readonly reason: "host" | "origin";
  readonly message: string;
}

/** @param request gives a header by its name in lower case */
export type CheckHost = (request: {
  header(name: string): string | null;
}) => HostRefusal | undefined;

const localNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Against DNS rebinding: a page whose name was made to resolve to this machine still sends its own
 * name as `Host`, and its origin. A `Host` that is none is refused in any case.
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
  const origins = allowedOrigins ?? allowedHosts;
  const hostNames = lowerCase(allowedHosts);
  const originNames = lowerCase(origins);
  return (request) => {
    const host = parseHost(request.header("host") ?? "");
    if (!host) return { reason: "host", message: "Forbidden: this Host is not a valid host." };
    if (hostNames !== "any" && !isNamed(host, hostNames)) {
      const hint = allowedHosts === localNames ? " Name the server's hosts in allowedHosts." : "";
      return { reason: "host", message: `Forbidden: this Host is not allowed.${hint}` };
    }
    const origin = request.header("origin")?.toLowerCase();
    if (origin === undefined || originNames === "any") return undefined;
    if (isAllowedOrigin(origin, originNames)) return undefined;
    const hint = origins === localNames ? " Name the pages' origins in allowedOrigins." : "";
    return { reason: "origin", message: `Forbidden: this Origin is not allowed.${hint}` };
  };
}

function lowerCase(names: readonly string[] | "any"): readonly string[] | "any" {
  return names === "any" ? names : names.map((name) => name.toLowerCase());
}

interface Host {
  readonly name: string;
  /** With the port, if one is named. */
  readonly text: string;
}

const originForm = /^[a-z][a-z\d+.-]*:\/\/(?<authority>.*)$/;
const hostForm = /^(?<name>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>0|[1-9]\d{0,4}))?$/;

/** `undefined` for what is no host and port, or is another host than it says to a URL parser. */
function parseHost(given: string): Host | undefined {
  const text = given.toLowerCase();
  const { name, port = "0" } = hostForm.exec(text)?.groups ?? {};
  if (name === undefined || Number(port) > 65_535) return undefined;
  // `127.1` and `0x7f000001` are read as `127.0.0.1`.
  const url = URL.parse(`http://${text}`);
  return url?.hostname === name ? { name, text } : undefined;
}

function isAllowedOrigin(origin: string, names: readonly string[]): boolean {
  const { authority } = originForm.exec(origin)?.groups ?? {};
  if (authority === undefined) return origin === "null" && names.includes(origin);
  const page = parseHost(authority);
  return names.includes(origin) || (page !== undefined && isNamed(page, names));
}

function isNamed({ name, text }: Host, names: readonly string[]): boolean {
  return names.includes(name) || names.includes(text);
}
