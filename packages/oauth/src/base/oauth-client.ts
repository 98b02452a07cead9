import type { CryptoKey, JWK } from "oauth4webapi";

/** A registration of this application at one authorization server, made by hand. */
export interface OAuthClient {
  /** The authorization server's issuer, exactly as its metadata says it. */
  readonly issuer: string;
  readonly clientId: string;
  /** The client's secret. @default a public client */
  readonly clientSecret?: string | undefined;
  /** For `private_key_jwt` (RFC 7523): a private JWK, or a `CryptoKey` that signs. */
  readonly privateKey?: JWK | CryptoKey | undefined;
  /** The `kid` of the private key. @default the JWK's own */
  readonly keyId?: string | undefined;
  /**
   * How the client proves who it is at the token endpoint.
   * @default `private_key_jwt` with a key, one of the secret's that the server supports with a secret, or else `none`
   */
  readonly tokenEndpointAuthMethod?:
    | "none"
    | "client_secret_basic"
    | "client_secret_post"
    | "private_key_jwt"
    | undefined;
  /**
   * Further parameters of the authorization request, such as `{ access_type: "offline" }`, without which Google gives
   * no refresh token.
   */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Gives the principal `{ type: "app" }` tokens of the application's own (client credentials). @default false */
  readonly clientCredentials?: boolean | undefined;
  /** The scopes of the application's own tokens. @default none: the server decides */
  readonly scopes?: readonly string[] | undefined;
}
