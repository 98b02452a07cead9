import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import * as oauth from "oauth4webapi";
import { expect, test } from "vitest";
import { asServer, serverByConvention } from "./authorization-server.ts";
import { authenticate, chooseAuthMethod, type Client, clientOf } from "./client.ts";

const server = serverByConvention("https://as.example");
const privateKey: JsonWebKey = { kty: "EC", crv: "P-256" };

async function credentialsOf(client: Client) {
  const body = new URLSearchParams();
  const headers = new Headers();
  await authenticate(client)(asServer(server), clientOf(client), body, headers);
  return { body, authorization: headers.get("authorization") };
}

test("HTTP Basic leaves `-`, `_` and `.` alone, and encodes what form encoding encodes", async () => {
  const { body, authorization } = await credentialsOf({
    clientId: "a-b_c.d",
    secret: "e-f_g.h:i j%k+ü",
    authMethod: "client_secret_basic",
  });
  expect(atob(authorization!.replace("Basic ", ""))).toBe("a-b_c.d:e-f_g.h%3Ai+j%25k%2B%C3%BC");
  expect(body.toString()).toBe("");
});

test.each(["ec", "ed25519", "rsa"] as const)(
  "an assertion is signed with an %s key, for the issuer alone",
  async (type) => {
    const pair =
      type === "rsa"
        ? generateKeyPairSync(type, { modulusLength: 2_048 })
        : type === "ec"
          ? generateKeyPairSync(type, { namedCurve: "P-256" })
          : generateKeyPairSync(type);
    const jwk = { ...pair.privateKey.export({ format: "jwk" }), kid: "one", use: "sig" };
    const client: Client = { clientId: "a", privateKey: jwk, authMethod: "private_key_jwt" };
    const { body } = await credentialsOf(client);
    const [header, claims] = body
      .get("client_assertion")!
      .split(".")
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown);
    const alg = { ec: "ES256", ed25519: "Ed25519", rsa: "RS256" }[type];
    expect(header).toEqual({ alg, kid: "one" });
    expect(claims).toMatchObject({ aud: "https://as.example", iss: "a", sub: "a" });
  },
);

test("a CryptoKey signs as it is", async () => {
  const key = await oauth.generateKeyPair("PS256");
  const client: Client = {
    clientId: "a",
    privateKey: key.privateKey,
    keyId: "two",
    authMethod: "private_key_jwt",
  };
  const { body } = await credentialsOf(client);
  const [header] = body.get("client_assertion")!.split(".");
  expect(JSON.parse(atob(header!))).toEqual({ alg: "PS256", kid: "two" });
});

test("a key that is none is named, and not repeated", async () => {
  const client: Client = {
    clientId: "a",
    privateKey: { ...privateKey, x: "canary", y: "canary", d: "canary" },
    authMethod: "private_key_jwt",
  };
  const error: unknown = await credentialsOf(client).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "CONNECTION_INVALID", data: { field: "clients" } });
  expect(inspect(error)).not.toMatch(/canary/);
});

test.each([
  [undefined, {}, "none"],
  [["client_secret_basic"], {}, "none"],
  [undefined, { secret: "s" }, "client_secret_basic"],
  [["client_secret_post", "none"], { secret: "s" }, "client_secret_post"],
  [["client_secret_post", "client_secret_basic"], { secret: "s" }, "client_secret_basic"],
  [["private_key_jwt", "client_secret_basic"], { secret: "s", privateKey }, "private_key_jwt"],
  [undefined, { privateKey }, "private_key_jwt"],
  [["none"], { secret: "s", wanted: "client_secret_post" }, "client_secret_post"],
] as const)("where a server takes %j, %j is used as %s", (supported, credentials, method) => {
  const of = { ...server, token_endpoint_auth_methods_supported: supported };
  expect(chooseAuthMethod(of, credentials)).toBe(method);
});

test("credentials that a server does not take are named with the fix", () => {
  const of = { ...server, token_endpoint_auth_methods_supported: ["none"] };
  expect(() => chooseAuthMethod(of, { secret: "s" })).toThrow(
    /https:\/\/as\.example takes none of client_secret_basic, client_secret_post.*tokenEndpointAuthMethod/,
  );
});
