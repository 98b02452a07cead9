import { fileURLToPath } from "node:url";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** Starts one of the servers in `src/fixtures`, which Node runs from source. */
export function startFixtureServer(
  name: string,
  file: string,
  ...options: string[]
): Promise<TestServer> {
  const script = fileURLToPath(new URL(`../fixtures/${file}`, import.meta.url));
  const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
  return startServerProcess({
    name,
    args: (port) => [...strip, script, "--port", String(port), ...options],
  });
}
