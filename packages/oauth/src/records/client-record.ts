import * as z from "zod/mini";
import type { Client } from "../protocol/client.ts";

/** A client that was registered at an authorization server, or is about to be. Its secret is secret. */
export interface ClientRecord {
  readonly version: 1;
  readonly issuer: string;
  readonly client?: Omit<Client, "privateKey" | "keyId" | "authorizationParameters"> | undefined;
  /** When it was last written, in milliseconds since 1970-01-01 UTC. */
  readonly writtenAt?: number | undefined;
  /** Until when one process registers, in milliseconds since 1970-01-01 UTC. */
  readonly lease?: { readonly token: string; readonly until: number } | undefined;
}

const clientSchema = z.strictObject({
  version: z.literal(1),
  issuer: z.string(),
  client: z.optional(
    z.strictObject({
      clientId: z.string(),
      secret: z.optional(z.string()),
      authMethod: z.enum(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]),
      expiresAt: z.optional(z.number()),
    }),
  ),
  writtenAt: z.optional(z.number()),
  lease: z.optional(z.strictObject({ token: z.string(), until: z.number() })),
});

/** Parses a record from a store; `undefined` for what does not parse. */
export function parseClient(value: unknown): ClientRecord | undefined {
  return clientSchema.safeParse(value).data;
}
