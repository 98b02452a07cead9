import { McpSessionError } from "@durable-mcp/core";
import type { CheckAddress } from "./connect.ts";
import { type Reach, reachOfAddress, reachOfHost } from "./address-reach.ts";

/** Where the requests of one resource may go. */
export interface TargetRules {
  /** Adds the origin of a URL. What is no http(s) URL is left out, so that requests to it are refused. */
  readonly allow: (url: string | URL) => void;
  /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
  readonly check: (method: string, url: string) => URL;
  /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
  readonly checkAddress: CheckAddress;
}

/**
 * The rules for the requests of one resource. What the resource's own URL says of its network counts, and
 * not what DNS says: whoever writes `https://10.1.2.3` or `localhost` knows about it.
 */
export function createTargetRules(resource: URL, allowPrivateAddresses: boolean): TargetRules {
  const origins = new Set([resource.origin]);
  const own = reachOfHost(resource.hostname);
  const reaches = allowedReaches(reachOfLiteral(resource.hostname), allowPrivateAddresses);

  const checkReach = (method: string | undefined, origin: string, reach: Reach) => {
    if (reaches.has(reach)) return;
    throw refusal(origin, method, reach === "never" ? neverReason : privateReason);
  };

  return {
    allow(value) {
      const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
      if (url !== undefined && isHttp(url)) origins.add(url.origin);
    },
    check(method, value) {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      // The origin of any other URL is the word "null".
      if (url === undefined || !isHttp(url)) {
        throw refusal(url?.protocol ?? "an invalid URL", method, "Only https URLs are asked");
      }
      if (url.username !== "" || url.password !== "") {
        throw refusal(url.origin, method, "There are credentials in its URL");
      }
      if (!origins.has(url.origin)) {
        const reason = `Neither the MCP server ${resource.origin} nor its authorization server names this origin, or it is not among your allowIssuers`;
        throw refusal(url.origin, method, reason);
      }
      const reach = reachOfHost(url.hostname);
      if (url.protocol === "http:" && (reach !== "loopback" || own !== "loopback")) {
        throw refusal(url.origin, method, httpReason);
      }
      checkReach(method, url.origin, reach);
      return url;
    },
    checkAddress(hostname, address) {
      const reach = reachOfAddress(address);
      // Nothing but this computer is asked without TLS.
      if (reachOfHost(hostname) === "loopback" && reach !== "loopback") {
        throw refusal(hostname, undefined, "This name must mean this computer, and does not");
      }
      checkReach(undefined, hostname, reach);
    },
  };
}

const httpReason =
  "It must use https. Only on this computer http will do, and only if the MCP server is there as well";
const neverReason = "No sign-in goes to link-local, multicast, reserved or unspecified addresses";
const privateReason =
  "Its address is private, and the MCP server's URL does not say that it is in the same network. Set allowPrivateAddresses: true if MCP servers may name addresses in your network";

/** Names that are private by custom are not among these, for somebody else may own them. */
function reachOfLiteral(hostname: string): Reach {
  const reach = reachOfHost(hostname);
  return reach === "private" && !isAddress(hostname) ? "public" : reach;
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
}

/** A server of the company's network does not name addresses of this computer. */
function allowedReaches(own: Reach, allowPrivateAddresses: boolean): ReadonlySet<Reach> {
  if (allowPrivateAddresses || own === "loopback") {
    return new Set<Reach>(["public", "private", "loopback"]);
  }
  return new Set<Reach>(own === "private" ? ["public", "private"] : ["public"]);
}

function isHttp(url: URL): boolean {
  return url.protocol === "https:" || url.protocol === "http:";
}

/** Nothing but an origin, for paths and queries of a sign-in may be secret. */
function refusal(origin: string, method: string | undefined, reason: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `A sign-in request to ${origin} was refused. ${reason}.`,
    { data: { reason: "other-origin", method, origin } },
  );
}
