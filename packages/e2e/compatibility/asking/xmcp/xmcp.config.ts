import type { XmcpConfig } from "xmcp";

/** The build writes the port into the file; the one of a server takes its place there. */
const config: XmcpConfig = {
  http: { port: 61_237 },
  paths: { prompts: false, resources: false },
};
export default config;
