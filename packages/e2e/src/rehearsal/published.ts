import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What a changeset does to one package. */
export interface Change {
  readonly name: string;
  readonly bump: string;
  /** The first line of its text. */
  readonly text: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly dist?: { readonly tarball: string };
}

/** The changesets of a clone. */
export function readChanges(clone: string): Change[] {
  return globSync(join(clone, ".changeset/*.md")).flatMap((file) => {
    const [, head = "", body = ""] = readFileSync(file, "utf8").split(/^---$/m);
    const [text = ""] = body.trim().split("\n");
    const bumps = head.matchAll(/"(.+)": (major|minor|patch)/g);
    return [...bumps].map(([, name = "", bump = ""]) => ({ name, bump, text }));
  });
}

/** The version that all packages get: they have one together. */
export function nextVersion(version: string, changes: readonly Change[]): string {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const has = (wanted: string) => changes.some(({ bump }) => bump === wanted);
  if (has("major")) return `${major + 1}.0.0`;
  return has("minor") ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** The packages of a clone that are published, with their folders. */
export function readPackages(clone: string): (Manifest & { readonly folder: string })[] {
  const files = globSync(join(clone, "packages/*/package.json"));
  return files
    .map((file) => ({
      ...(JSON.parse(readFileSync(file, "utf8")) as Manifest),
      folder: dirname(file),
    }))
    .filter((manifest) => !manifest.private);
}

/** @returns the packages whose version or changelog is not as a release has to write it */
export function faultsOfVersions(
  clone: string,
  wanted: string,
  changes: readonly Change[],
): string[] {
  return readPackages(clone).flatMap(({ name, folder, version }) => {
    const [, entry = ""] = readFileSync(join(folder, "CHANGELOG.md"), "utf8").split(/^## /m);
    const parts = entry.split(/^### /m).map((part) => part.toLowerCase());
    const isTold = ({ bump, text }: Change) =>
      parts.some((part) => part.startsWith(bump) && part.includes(text.toLowerCase()));
    const own = changes.filter((change) => change.name === name);
    const isRight = version === wanted && entry.startsWith(`${wanted}\n`) && own.every(isTold);
    return isRight ? [] : [`${name} ${version}, whose changelog begins with ${entry}`];
  });
}

/** @returns what is wrong with a version that a registry gives to those who install a package */
export async function faultsInRegistry(
  registry: string,
  name: string,
  version: string,
): Promise<string[]> {
  const response = await fetch(`${registry}${encodeURIComponent(name)}/latest`);
  if (!response.ok) return [`${name} is not there: ${response.status}`];
  const latest = (await response.json()) as Manifest;
  const { dependencies, peerDependencies, dist } = latest;
  const packed = Buffer.from(await (await fetch(dist!.tarball)).arrayBuffer());
  const tar = (...args: string[]) => execFileSync("tar", args, { input: packed, encoding: "utf8" });
  const files = tar("-tz").split("\n");
  const manifest = tar("-xzO", "package/package.json");
  return [
    ...[["latest", latest.version], ...Object.entries({ ...peerDependencies, ...dependencies })]
      .filter(([other]) => other === "latest" || other!.startsWith("@durable-mcp/"))
      .filter(([, range]) => range !== version)
      .map((found) => `${name}: ${found.join(" is ")}`),
    ...["workspace:", "catalog:", "@durable-mcp/source"]
      .filter((word) => manifest.includes(word))
      .map((word) => `${name}: package.json has ${word}`),
    ...["README.md", "LICENSE", "CHANGELOG.md", "dist/"]
      .filter((path) => !files.some((file) => file.startsWith(`package/${path}`)))
      .map((path) => `${name} is packed without ${path}`),
  ];
}
