import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";

/** SDK v1 with one transport for the whole process: one session, until it is started again. */
export function startSdkV1SingleTransportServer(): Promise<FixtureServer> {
  return startFixtureServer("SDK v1, one transport", "sdk-v1-single-transport-server.ts");
}
