import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";

/** SDK v2, both eras, sessions for the old one; 404 to an unknown id. */
export function startSdkV2RoutedServer(): Promise<FixtureServer> {
  return startFixtureServer("SDK v2 with isLegacyRequest", "sdk-v2-routed-server.ts");
}

/** SDK v2 `createMcpHandler`: both eras, no sessions. */
export function startSdkV2StatelessServer(...options: "--cacheable"[]): Promise<FixtureServer> {
  return startFixtureServer("SDK v2 createMcpHandler", "sdk-v2-stateless-server.ts", ...options);
}

/** SDK v2, 2026-07-28 only: `initialize` is refused with 400 and −32022. */
export function startSdkV2ModernOnlyServer(): Promise<FixtureServer> {
  return startFixtureServer("SDK v2 modern only", "sdk-v2-stateless-server.ts", "--modern-only");
}
