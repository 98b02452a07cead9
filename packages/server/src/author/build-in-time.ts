import { inTime } from "../base/in-time.ts";
import type { HandlerSettings } from "../base/settings.ts";
import type { ConnectableServer } from "./server-session.ts";

/** A server that comes too late is closed. @throws {DOMException} `TimeoutError` */
export async function buildInTime(
  { timeouts: { serverMs } }: HandlerSettings,
  building: Promise<ConnectableServer>,
): Promise<ConnectableServer> {
  const late = `createServer took longer than timeouts.serverMs (${serverMs}).`;
  return await inTime(building, serverMs, late, (built) => built.close());
}
