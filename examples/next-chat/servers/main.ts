/**
 * MCP servers to try the chat with, and the authorization server of one of them:
 *
 *     npm run servers
 *
 * Their carts, orders and sign-ins are in memory, and go with this process.
 */
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createAccount } from "./account.ts";
import { startAuthorizationServer } from "./authorization.ts";
import { serveCart } from "./cart.ts";
import { createDelivery } from "./delivery.ts";

const need = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. .env.example says what it is.`);
  return value;
};

const accountUrl = new URL(need("ACCOUNT_URL"));
const authorization = await startAuthorizationServer({
  issuer: new URL(need("AUTHORIZATION_URL")),
  redirectUrl: `${need("APP_URL")}/oauth/callback`,
});
const serveAccount = createAccount({ url: accountUrl, authorization });
const serveDelivery = createDelivery({
  stateKey: Buffer.from(need("STATE_KEY"), "base64"),
  payUrl: new URL("/pay", accountUrl),
});

const handler = toNodeHandler({
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === new URL(need("CART_URL")).pathname) return await serveCart(request);
    if (pathname === new URL(need("DELIVERY_URL")).pathname) return await serveDelivery(request);
    if (pathname === "/pay") return new Response("This page takes play money only.");
    return await serveAccount(request);
  },
});
// The handler's parameter type leaves out the `undefined` that node's own type has.
createServer((request, response) => void handler(request as never, response)).listen(
  Number(accountUrl.port),
  accountUrl.hostname,
  () => console.log(`MCP servers at ${accountUrl.origin}, sign-in at ${authorization.issuer}`),
);
