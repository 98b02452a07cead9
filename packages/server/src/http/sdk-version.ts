import type { EmitServerEvent } from "../base/server-event.ts";

/** The versions of `@modelcontextprotocol/sdk` that the tests run with. */
const testedSdkVersions = ">=1.32.2 <2";

/**
 * Says so when the installed `@modelcontextprotocol/sdk` is outside the tested range. Where its
 * version cannot be seen (no Node, a bundle) it says nothing.
 */
export function checkSdkVersion(emit: EmitServerEvent, version = installedSdkVersion()): void {
  if (version === undefined || isTested(version)) return;
  emit({ type: "sdk-version", version, tested: testedSdkVersions });
}

function isTested(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part));
  return major === 1 && (minor > 32 || (minor === 32 && patch >= 2));
}

/** As its manifest says; `undefined` where that cannot be read. */
export function installedSdkVersion(): string | undefined {
  try {
    // Not imports: other runtimes load this file too. The package does not export its manifest.
    const { createRequire } = process.getBuiltinModule("node:module");
    const { readFileSync } = process.getBuiltinModule("node:fs");
    const file = createRequire(import.meta.url).resolve("@modelcontextprotocol/sdk/types.js");
    const folder = file.slice(0, file.lastIndexOf("/dist/"));
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as {
      version?: string;
    };
    return manifest.version;
  } catch {
    return undefined;
  }
}
