export type { EnterpriseOptions, WorkloadOptions } from "./base/assertion-options.ts";
export type { OAuthClient } from "./base/oauth-client.ts";
export type { OAuthEvent, SignInRefusal } from "./base/oauth-event.ts";
export type { RefusedToken } from "./base/refused-token.ts";
export type { ConnectUse, OAuthClientProvider, OAuthConnection } from "./connect.ts";
export {
  type AwaitedAuthorization,
  createOAuth,
  type OAuth,
  type OAuthTokenContext,
} from "./create-oauth.ts";
export type { Grant } from "./grants/list-grants.ts";
export type { SignedOut } from "./grants/sign-out.ts";
export type { OAuthOptions, SignedIn } from "./oauth-options.ts";
export type { StartUse } from "./sign-in/routes.ts";
