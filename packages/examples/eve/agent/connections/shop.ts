import { defineMcpClientConnection } from "eve/connections";

// The same server through eve's own connection, for comparison.
export default defineMcpClientConnection({
  url: process.env["CART_URL"] ?? "http://127.0.0.1:1/mcp",
  description: "The user's shopping cart, by eve's own connection.",
});
