import { createEveAuthorization } from "@durable-mcp/oauth/eve";
import { defineMcpClientConnection } from "eve/connections";
import { oauth } from "../lib/sign-in.ts";

// eve's own connection, with tokens that outlive its steps.
export default defineMcpClientConnection({
  url: process.env["NOTES_URL"] ?? "http://127.0.0.1:1/mcp",
  description: "The user's notes.",
  auth: createEveAuthorization(oauth, { connection: "notes", displayName: "Notes" }),
});
