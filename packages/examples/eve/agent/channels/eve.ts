import { appSession } from "../lib/sign-in.ts";
import { eveChannel } from "eve/channels/eve";

// Who calls is the principal of the MCP session.
export default eveChannel({
  auth: appSession(),
});
