import ipaddr from "ipaddr.js";

/**
 * The network that an address belongs to.
 *
 * - `public`: anybody's.
 * - `private`: a company's or a home's, shared addresses of providers (100.64.0.0/10) included.
 * - `loopback`: this computer.
 * - `never`: link-local addresses, services of clouds that give credentials to whoever asks, and addresses
 *   that are nobody's: unspecified, multicast, reserved, tunnels.
 */
export type Reach = "public" | "private" | "loopback" | "never";

/** Services of clouds that are not at link-local addresses: of AWS, Google, Alibaba and Azure. */
const cloudServices = new Set([
  "fd00:ec2:0:0:0:0:0:254",
  "fd20:ce:0:0:0:0:0:254",
  "100.100.100.200",
  "168.63.129.16",
]);

const reachOfRange: Readonly<Record<string, Reach>> = {
  unicast: "public",
  private: "private",
  carrierGradeNat: "private",
  uniqueLocal: "private",
  loopback: "loopback",
};

/** The reach of an IPv4 or IPv6 address; `never` for what is no address. */
export function reachOfAddress(text: string): Reach {
  if (!ipaddr.isValid(text)) return "never";
  const address = ipaddr.parse(text);
  if (cloudServices.has(address.toNormalizedString())) return "never";
  const range = address.range();
  if ("parts" in address) {
    if (isIPv4Inside(range, address.parts)) return reachOfIPv4(address.toByteArray().slice(-4));
    // Global addresses start with the bits 001. Others are assigned to nobody, or have an IPv4 address inside.
    if (range === "unicast" && (address.parts[0] ?? 0) >> 13 !== 1) return "never";
  }
  return reachOfRange[range] ?? "never";
}

/** IPv4-mapped (::ffff:0:0/96), or translated by a NAT64 (64:ff9b::/96), which IPv6-only networks use. */
function isIPv4Inside(range: string, parts: readonly number[]): boolean {
  return range === "ipv4Mapped" || (range === "rfc6052" && parts[2] === 0);
}

function reachOfIPv4(bytes: readonly number[]): Reach {
  return reachOfAddress(bytes.join("."));
}

/** Names that only mean something inside a network (RFC 6762, RFC 8375, ICANN's `internal`), and usual ones. */
const privateName = /^[^.]+$|\.(?:local|internal|home\.arpa|localdomain|lan|home|corp|intranet)$/;
const cloudName = /^(?:metadata|instance-data)$|^metadata\.goog$|^metadata\.google\.internal$/;

/**
 * The reach of the host of a URL, as far as its text says. A DNS name is public here, whatever its addresses
 * are.
 *
 * @param hostname of a WHATWG URL, which has made one form of all forms of an IPv4 address
 */
export function reachOfHost(hostname: string): Reach {
  const literal = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  if (ipaddr.isValid(literal)) return reachOfAddress(literal);
  const name = hostname.replace(/\.+$/, "");
  if (isLocalhost(name)) return "loopback";
  if (name === "" || cloudName.test(name)) return "never";
  return privateName.test(name) ? "private" : "public";
}

/** Whether a name stands for this computer, whatever DNS says (RFC 6761). */
function isLocalhost(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}
