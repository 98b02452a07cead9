import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import type { Agent } from "undici";
import type { CheckAddress, Connect, Resolve, ResolvedAddress } from "./connect.ts";

/**
 * The `fetch` of undici, with connections of its own. All addresses of a name are checked when it connects,
 * and it connects to one of these, so that no second answer of DNS counts.
 *
 * Each request has a connection of its own. A kept one may be dead, after a frozen function thaws for example,
 * and then nobody knows whether the server has got the refresh token. Proxies of the environment are not used.
 */
export const connect: Connect = (checkAddress, { resolve = resolveName, connectMs }) => {
  let agent: Agent | undefined;
  const send = async (input: string | URL, init: RequestInit = {}) => {
    // It has more than a hundred modules. A step whose token is good for longer sends nothing with it.
    const undici = await import("undici");
    agent ??= new undici.Agent({
      allowH2: false,
      pipelining: 0,
      connect: { lookup: checkedLookup(checkAddress, resolve), timeout: connectMs },
    });
    // The same standard twice: undici's types are its own.
    return await undici.fetch(input, { ...(init as object), dispatcher: agent });
  };
  return send as unknown as typeof fetch;
};

const resolveName: Resolve = (hostname) => lookup(hostname, { all: true });

/** A lookup for sockets. One address that is refused is enough to refuse the name. */
function checkedLookup(checkAddress: CheckAddress, resolve: Resolve): LookupFunction {
  const resolveChecked = async (hostname: string) => {
    const addresses = await resolve(hostname);
    for (const { address } of addresses) checkAddress(hostname, address);
    if (addresses.length === 0) throw noAddress(hostname);
    return [...addresses];
  };
  return (hostname, { all }, answer) => {
    const give = (addresses: ResolvedAddress[]) =>
      all ? answer(null, addresses) : answer(null, addresses[0]!.address, addresses[0]!.family);
    resolveChecked(hostname).then(give, (error: Error) => answer(error, ""));
  };
}

function noAddress(hostname: string): Error {
  return Object.assign(new Error(`${hostname} has no address.`), {
    code: "ENOTFOUND",
    syscall: "getaddrinfo",
  });
}
