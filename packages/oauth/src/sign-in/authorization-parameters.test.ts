import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createApplication, redirectUrl } from "../../test/application.ts";
import { startProtectedServer } from "../../test/protected-server.ts";
import { startAuthorizationServer } from "../../test/start-authorization-server.ts";
import { createOAuth } from "../create-oauth.ts";

test("a registration by hand says more in the authorization request", async () => {
  const { issuer } = await startAuthorizationServer();
  const { url } = await startProtectedServer([issuer]);
  const authorizationParameters = { access_type: "offline" };
  const clients = [{ issuer, clientId: "by hand", authorizationParameters }];
  const application = createApplication({ url: url.href, clients });
  const { searchParams } = new URL(await application.begin());
  expect(searchParams.get("access_type")).toBe("offline");
  expect(searchParams.get("client_id")).toBe("by hand");
});

test.each([
  [{ state: "ours" }, "clients[0].authorizationParameters.state"],
  [{ code_challenge: "ours" }, "clients[0].authorizationParameters.code_challenge"],
  [{ access_type: 1 }, "clients[0].authorizationParameters"],
])("%j is refused", (authorizationParameters, field) => {
  const clients = [{ issuer: "https://as.example", clientId: "a", authorizationParameters }];
  const options = { store: createMemoryStore(), keys: "store tokens unencrypted", redirectUrl };
  expect(() => createOAuth({ ...options, clients } as never)).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: expect.objectContaining({ field }),
    }),
  );
});
