import * as z from "zod/mini";

/** A client that was registered at an authorization server, or is about to be. Its secret is secret. */
const clientSchema = z.object({
  version: z.literal(1),
  issuer: z.string(),
  client: z.optional(
    z.object({
      clientId: z.string(),
      secret: z.optional(z.string()),
      authMethod: z.enum(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]),
      expiresAt: z.optional(z.number()),
    }),
  ),
  /** When it was last written, in milliseconds since 1970-01-01 UTC. */
  writtenAt: z.optional(z.number()),
  /** Until when one process registers, in milliseconds since 1970-01-01 UTC. */
  lease: z.optional(z.object({ token: z.string(), until: z.number() })),
});
export type ClientRecord = Readonly<z.infer<typeof clientSchema>>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseClient(value: unknown): ClientRecord | undefined {
  return clientSchema.safeParse(value).success ? (value as ClientRecord) : undefined;
}
