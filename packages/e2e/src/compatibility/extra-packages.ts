import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** `packages/e2e/compatibility`: servers that only the matrix needs, pinned by a lock file of their own. */
const folder = new URL("../../compatibility/", import.meta.url);

/** The folder they are installed into. */
export const extraPackages = new URL("node_modules/", folder);

/** Installs them, without running any of their install scripts. */
export function installExtraPackages(): void {
  const { status, error } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
    {
      cwd: fileURLToPath(folder),
      stdio: ["ignore", process.stderr, process.stderr],
    },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(`npm ci in packages/e2e/compatibility ended with ${status}`);
}

/** Path of one of the server programs beside the lock file. */
export function extraProgram(file: string): string {
  return fileURLToPath(new URL(`servers/${file}`, folder));
}
