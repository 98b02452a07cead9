import * as z from "zod/mini";
import { scopesSchema, serverSchema } from "./grant-record.ts";

/** A sign-in under way, from the click to the callback. `verifier` is secret, and is used once. */
const signInSchema = z.object({
  version: z.literal(1),
  /** The resource: the URL of the MCP server. */
  url: z.url(),
  connection: z.string(),
  server: serverSchema,
  clientId: z.string(),
  /** For RFC 8707. */
  resource: z.string(),
  redirectUrl: z.url(),
  verifier: z.string(),
  scopes: scopesSchema,
  sessionId: z.optional(z.string()),
  /** Where the application wants the user to go afterwards. */
  returnUrl: z.optional(z.url({ protocol: /^https?$/ })),
  /** The tokens are to be bound to a key. */
  isBound: z.optional(z.literal(true)),
  /** How often the user had signed out before. @default 0 */
  signOuts: z.optional(z.int()),
  expiresAt: z.number(),
});
export type SignInRecord = Readonly<z.infer<typeof signInSchema>>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseSignIn(value: unknown): SignInRecord | undefined {
  return signInSchema.safeParse(value).success ? (value as SignInRecord) : undefined;
}
