import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** The part of `package.json` that tells npm where our packages are. */
interface Packed {
  dependencies: Record<string, string>;
  overrides: Record<string, string>;
}

/**
 * Copies the template of the last commit into an empty folder, and installs it there with the packages of this
 * workspace, packed as they would be published.
 *
 * @param say is told what is being done
 */
export function installTemplate(
  folder: string,
  tarballs: string,
  say: (doing: string) => void,
): void {
  say("packing the packages");
  const packed = JSON.parse(run(root, process.execPath, "scripts/pack.mjs", tarballs)) as Packed;
  // As a clone has it: without what git ignores, or nobody has committed.
  const archive = `${folder}.tar`;
  run(root, "git", "archive", "--output", archive, "HEAD:examples/next-chat");
  mkdirSync(folder);
  run(folder, "tar", "-xf", archive);
  usePackages(join(folder, "package.json"), packed);
  say("npm install");
  run(folder, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error");
  for (const name of Object.keys(packed.overrides)) {
    if (existsSync(join(folder, "node_modules", name, "src"))) {
      throw new Error(`${name} is not the packed one.`);
    }
  }
}

/** Builds an installed template, and checks its types. */
export function buildTemplate(folder: string, say: (doing: string) => void): void {
  for (const script of ["build", "typecheck"]) {
    say(`npm run ${script}`);
    run(folder, "npm", "run", script);
  }
}

/** Only those that the template uses, itself or through another one. */
function usePackages(path: string, { dependencies, overrides }: Packed): void {
  const manifest = JSON.parse(readFileSync(path, "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    const tarball = dependencies[name];
    if (tarball !== undefined) manifest.dependencies[name] = tarball;
    else if (name.startsWith("@durable-mcp/")) throw new Error(`There is no package ${name}.`);
  }
  writeFileSync(path, `${JSON.stringify({ ...manifest, overrides }, undefined, 2)}\n`);
}

function run(cwd: string, command: string, ...args: string[]): string {
  try {
    return execFileSync(command, args, {
      ...{ cwd, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
      stdio: ["ignore", "pipe", "inherit"],
    });
  } catch (error) {
    // What npm and Next.js say of a failure is on stdout.
    console.error(String((error as { stdout?: unknown }).stdout));
    throw error;
  }
}
