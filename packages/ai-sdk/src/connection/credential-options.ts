import type { Awaitable, ConnectionContext } from "./connection-context.ts";

/** A bearer token and its expiry, in milliseconds since 1970-01-01 UTC or as a `Date`. */
export interface ConnectionToken {
  readonly token: string;
  readonly expiresAt?: number | Date | undefined;
}

interface GetToken {
  readonly getToken: (context: ConnectionContext) => Awaitable<ConnectionToken>;
}

/** What a connection sends in `Authorization`, as a bearer token. */
export type ConnectionAuth =
  | GetToken
  | ((context: ConnectionContext) => Awaitable<ConnectionToken | string | GetToken>);

/** Headers by name: values, promises of them, or functions. A promise that rejects fails each request. */
export type ConnectionHeaders = Readonly<
  Record<string, Awaitable<string> | ((context: ConnectionContext) => Awaitable<string>)>
>;
