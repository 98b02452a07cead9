import { shape, type Shaped } from "@durable-mcp/core/internal";

/** A client that was registered at an authorization server, or is about to be. Its secret is secret. */
const clientSchema = shape.openRecordOf({
  version: shape.exactly(1),
  issuer: shape.anyText,
  "client?": shape.openRecordOf({
    clientId: shape.anyText,
    "secret?": shape.anyText,
    authMethod: shape.exactly(
      "none",
      "client_secret_basic",
      "client_secret_post",
      "private_key_jwt",
    ),
    "expiresAt?": shape.anyNumber,
  }),
  /** When it was last written, in milliseconds since 1970-01-01 UTC. */
  "writtenAt?": shape.anyNumber,
  /** Until when one process registers, in milliseconds since 1970-01-01 UTC. */
  "lease?": shape.openRecordOf({ token: shape.anyText, until: shape.anyNumber }),
});
export type ClientRecord = Shaped<typeof clientSchema>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseClient(value: unknown): ClientRecord | undefined {
  return clientSchema(value) === undefined ? (value as ClientRecord) : undefined;
}
