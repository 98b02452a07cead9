import { reachOfHost } from "../guard/address-reach.ts";

/**
 * Whether a URL is http on this computer, where no TLS is needed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export function isLoopbackUrl({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && reachOfHost(hostname) === "loopback";
}
