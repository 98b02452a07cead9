import { createOAuth, type OAuth } from "@durable-mcp/oauth";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { httpBasic } from "eve/channels/auth";
import type { SessionContext } from "eve/tools";

let made: OAuth | undefined;

/** Made on first use: eve also loads this module when it builds the agent. */
export function oauth(): OAuth {
  made ??= createOAuth({
    store: createSqliteStore({ path: process.env["SESSIONS_DB"]! }),
    keys: { current: Buffer.from(process.env["SEALING_KEY"]!, "base64") },
    redirectUrl: process.env["REDIRECT_URL"]!,
  });
  return made;
}

/** Who calls, in a channel and in the browser. */
export const appSession = () =>
  httpBasic({ username: "ada", password: process.env["DEMO_PASSWORD"] ?? "" });

type Caller = NonNullable<SessionContext["session"]["auth"]["current"]>;

/** As eve names users to connections. */
export function userOf({ issuer, authenticator, principalId: id }: Caller) {
  return { type: "user", issuer: issuer ?? authenticator, id } as const;
}
