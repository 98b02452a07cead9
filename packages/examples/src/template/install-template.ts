import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const template = join(root, "examples/next-chat");
/** What a clone has not, and an installation of its own makes. */
const made = new Set(["node_modules", ".next", ".data", ".env.local", "next-env.d.ts"]);

/** The part of `package.json` that tells npm where our packages are. */
interface Packed {
  dependencies: Record<string, string>;
  overrides: Record<string, string>;
}

/**
 * Copies the template into an empty folder, and installs it there with the packages of this workspace, packed as they
 * would be published. Then it checks its types and builds it.
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
  cpSync(template, folder, {
    recursive: true,
    filter: (path) => !made.has(basename(path)) && !path.endsWith(".tsbuildinfo"),
  });
  usePackages(join(folder, "package.json"), packed);
  say("npm install");
  run(folder, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error");
  for (const name of Object.keys(packed.overrides)) {
    if (existsSync(join(folder, "node_modules", name, "src"))) {
      throw new Error(`${name} is not the packed one.`);
    }
  }
  say("npm run build");
  run(folder, "npm", "run", "build");
  say("npm run typecheck");
  run(folder, "npm", "run", "typecheck");
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
