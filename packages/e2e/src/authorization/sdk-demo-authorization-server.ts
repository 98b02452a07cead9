import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";

/** The authorization server in the MCP SDK's own examples, in a process of its own. */
export interface SdkDemoAuthorizationServer extends TestServer {
  /** As its metadata has it: with a slash at the end. */
  readonly issuer: string;
}

/** It signs everybody in at once as `demo_user`, for an hour, and has neither pages nor refresh tokens. */
export async function startSdkDemoAuthorizationServer(): Promise<SdkDemoAuthorizationServer> {
  const program = new URL("./sdk-demo-program.ts", import.meta.url);
  const server = await startServerProcess({
    name: "the SDK's demo authorization server",
    path: "/",
    args: (port) => [...programArguments(program), "--port", String(port)],
  });
  return { ...server, issuer: server.url };
}
