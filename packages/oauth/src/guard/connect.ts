import { lastFetch } from "@durable-mcp/core/internal";

/** Throws for an address that must not be connected to. */
export type CheckAddress = (hostname: string, address: string) => void;

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/**
 * A `fetch` that checks each address before it connects to it, where the runtime lets it. Here it does not:
 * this file is for other runtimes than Node, which show no addresses.
 */
export type Connect = (
  checkAddress: CheckAddress,
  use: { readonly resolve?: Resolve | undefined; readonly connectMs: number },
) => typeof fetch;

export const connect: Connect = () => lastFetch();
