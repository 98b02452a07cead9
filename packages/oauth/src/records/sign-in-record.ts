import { shape, type Shaped } from "@durable-mcp/core/internal";
import { anyUrl, scopesSchema, serverSchema } from "./grant-record.ts";

const webUrl = shape.when<string>(
  (value) => anyUrl(value) === undefined && /^https?:$/.test(new URL(value as string).protocol),
);

/** A sign-in under way, from the click to the callback. `verifier` is secret, and is used once. */
const signInSchema = shape.openRecordOf({
  version: shape.exactly(1),
  /** The resource: the URL of the MCP server. */
  url: anyUrl,
  connection: shape.anyText,
  server: serverSchema,
  clientId: shape.anyText,
  /** For RFC 8707. */
  resource: shape.anyText,
  redirectUrl: anyUrl,
  verifier: shape.anyText,
  scopes: scopesSchema,
  "sessionId?": shape.anyText,
  /** Where the application wants the user to go afterwards. */
  "returnUrl?": webUrl,
  /** The tokens are to be bound to a key. */
  "isBound?": shape.exactly(true),
  /** How often the user had signed out before. @default 0 */
  "signOuts?": shape.anyWhole,
  expiresAt: shape.anyNumber,
});
export type SignInRecord = Shaped<typeof signInSchema>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseSignIn(value: unknown): SignInRecord | undefined {
  return signInSchema(value) === undefined ? (value as SignInRecord) : undefined;
}
