import * as z from "zod/mini";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import { serverSchema } from "./grant-record.ts";

/** A sign-in under way, from the click to the callback. `verifier` is secret, and is used once. */
export interface SignInRecord {
  readonly version: 1;
  /** The resource: the URL of the MCP server. */
  readonly url: string;
  readonly connection: string;
  readonly server: AuthorizationServer;
  readonly clientId: string;
  /** For RFC 8707. */
  readonly resource: string;
  readonly redirectUrl: string;
  readonly verifier: string;
  readonly scopes: readonly string[];
  readonly sessionId?: string | undefined;
  /** Where the application wants the user to go afterwards. */
  readonly returnUrl?: string | undefined;
  /** How often the user had signed out before. @default 0 */
  readonly signOuts?: number | undefined;
  readonly expiresAt: number;
}

const signInSchema = z.strictObject({
  version: z.literal(1),
  url: z.url(),
  connection: z.string(),
  server: serverSchema,
  clientId: z.string(),
  resource: z.string(),
  redirectUrl: z.url(),
  verifier: z.string(),
  scopes: z.array(z.string()),
  sessionId: z.optional(z.string()),
  returnUrl: z.optional(z.url()),
  signOuts: z.optional(z.int()),
  expiresAt: z.number(),
});

/** Parses a record from a store; `undefined` for what does not parse. */
export function parseSignIn(value: unknown): SignInRecord | undefined {
  return signInSchema.safeParse(value).data;
}
