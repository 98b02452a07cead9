import type { SessionStore } from "@durable-mcp/core";
import { createOAuth, type OAuth, type OAuthEvent } from "@durable-mcp/oauth";
import type { Application } from "./any-client-protocol.ts";

/** The sign-ins of an application, in one of its processes. */
export function createOAuthOf(
  { key, redirectUrl }: Pick<Application, "key" | "redirectUrl">,
  store: SessionStore,
  onEvent?: (event: OAuthEvent) => void,
): OAuth {
  return createOAuth({
    ...{ store, redirectUrl, onEvent },
    keys: { current: Uint8Array.from(atob(key), (character) => character.charCodeAt(0)) },
  });
}

/** A user of the application. */
export const userOf = (id: string) =>
  ({ type: "user", issuer: "https://app.example", id }) as const;
