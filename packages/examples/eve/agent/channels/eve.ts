import { httpBasic } from "eve/channels/auth";
import { eveChannel } from "eve/channels/eve";

// Who calls is the principal of the MCP session.
export default eveChannel({
  auth: httpBasic({ username: "ada", password: process.env["DEMO_PASSWORD"] ?? "" }),
});
