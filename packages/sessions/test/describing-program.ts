import { fileURLToPath } from "node:url";

/** How the server of `describing-server.ts` is started. */
export function describingProgram(...args: string[]) {
  const file = fileURLToPath(new URL("describing-server.ts", import.meta.url));
  return { command: process.execPath, args: [file, ...args] };
}
