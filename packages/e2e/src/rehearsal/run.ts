/**
 * Plays releases through, with the commands of `release.yml` and of CONTRIBUTING.md, in a shallow clone of the present
 * commit and on a registry of its own (verdaccio): the first publication by hand, what is pending, then a minor and a
 * patch change with uploads that break. Then the smoke projects install from that registry:
 *
 *     npm run lab -- release [--smoke <name>]...   @default core and cli; "" for all
 *
 * Nothing can reach npm: the home folder of all commands has no login, and gives our scope to that registry.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type CommandResult, runCommand } from "../smoke/run-command.ts";
import {
  faultsInRegistry,
  faultsOfVersions,
  nextVersion,
  readChanges,
  readPackages,
} from "./published.ts";
import { startRegistry } from "./registry.ts";
import { readJob, readPermissions } from "./workflow.ts";

const { smoke } = parseArgs({
  options: { smoke: { type: "string", multiple: true, default: ["core", "cli"] } },
}).values;
const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "durable-mcp-release-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
const clone = join(folder, "clone");
const plan = join(folder, "publish-plan.json");
const workflow = join(clone, ".github/workflows/release.yml");
let faults = 0;

const registry = await startRegistry(join(folder, "registry"));
try {
  makeRunner();
  await publishByHand();
  await release("What is pending", publishUnsigned);
  writeChangeset("oauth", "minor");
  writeChangeset("stores", "patch");
  await release("A minor and a patch change, and uploads that break", publishBroken);
  console.log("\nNot rehearsed, for only GitHub and npm can do it; the workflow is read:");
  for (const [what, isRight] of readPermissions(workflow)) check(what, isRight);
  await installFromRegistry();
} finally {
  await registry[Symbol.asyncDispose]();
}
console.log(faults === 0 ? "\nThe release holds." : `\n${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;

/** A clone as a runner has it. From here on this process and all commands know nothing of npm's and GitHub's logins. */
function makeRunner(): void {
  const store = ask("pnpm", "store", "path").replace(/\/v\d+$/, "");
  const ofNpm = ["registry", "cache"].map((key) => `${key}=${ask("npm", "config", "get", key)}`);
  const logins = /^(npm_|pnpm_|node_(auth|options)|github_|actions_|durable_mcp_)/i;
  for (const name of Object.keys(process.env)) if (logins.test(name)) delete process.env[name];
  const home = join(folder, "home");
  const own = { HOME: home, CI: "true", PLAN: plan, PACKED: join(folder, "packed") };
  Object.assign(process.env, own, { PNPM_CONFIG_STORE_DIR: store });
  mkdirSync(home);
  const login = `${registry.url.replace("http:", "")}:_authToken=rehearsal`;
  const settings = [...ofNpm, `@durable-mcp:registry=${registry.url}`, login];
  writeFileSync(join(home, ".npmrc"), settings.join("\n"));
  writeFileSync(join(home, ".gitconfig"), "[user]\nname = Rehearsal\nemail = rehearsal@localhost");
  const origin = join(folder, "origin.git");
  ask("git", "init", "--quiet", "--bare", "--initial-branch=main", origin);
  ask("git", "push", "--quiet", origin, "HEAD:refs/heads/main");
  ask("git", "clone", "--quiet", "--depth=1", `file://${origin}`, clone);
  console.log(ask("git", "log", "-1", "--format=%h %s"));
}

function ask(program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: repository, encoding: "utf8" }).trim();
}

/** npm trusts a workflow only for packages that exist. */
async function publishByHand(): Promise<void> {
  console.log("\nThe first publication, as CONTRIBUTING.md has it");
  const contributing = readFileSync(join(clone, "CONTRIBUTING.md"), "utf8");
  const [, build, publish] = /by hand[^\n]*: `(.+?)`, then `(.+?)`\./.exec(contributing) ?? [];
  if (publish === undefined) throw new Error("CONTRIBUTING.md has no commands for it any more.");
  await mustRun(["pnpm install --frozen-lockfile", build!, publish]);
  check("each package is there", (await plannedPackages()).length === 0);
}

function writeChangeset(name: string, bump: string): void {
  const text = `---\n"@durable-mcp/${name}": ${bump}\n---\n\nA ${bump} change of ${name}.\n`;
  writeFileSync(join(clone, `.changeset/rehearsed-${name}.md`), text);
}

/** Runs the jobs of a release, the merge of its pull request between them. */
async function release(title: string, publish: () => Promise<void>): Promise<void> {
  console.log(`\n${title}`);
  const changes = readChanges(clone);
  if (changes.length === 0) return console.log("  nothing");
  await merge("changes");
  const version = nextVersion(readPackages(clone)[0]!.version, changes);
  await mustRun(jobOf("version"));
  check(`versions and changelogs of ${version}`, ...faultsOfVersions(clone, version, changes));
  check("no changeset is left", readChanges(clone).length === 0);
  for (const script of ["format:check", "sherif", "publishing", "docs:check"]) {
    const { isDone, output } = await run([`npm run ${script}`]);
    check(`the pull request passes ${script}`, ...(isDone ? [] : [output]));
  }
  await merge("release");

  check("it is to be published", (await plannedPackages()).length > 0);
  await mustRun(jobOf("pack"));
  await publish();
  const names = readPackages(clone).map(({ name }) => name);
  const found = names.map((name) => faultsInRegistry(registry.url, name, version));
  check(
    `${names.length} packages are the latest, and need each other's`,
    ...(await Promise.all(found)).flat(),
  );
  check("another run publishes nothing", ...(await plannedPackages()));
  check("each has its tag", ...(await untaggedPackages()));
}

/** Puts what the clone has on the branch. */
async function merge(message: string): Promise<void> {
  const commit = `git commit --quiet --allow-empty -m ${message}`;
  await mustRun([`git add --all && ${commit} && git push --quiet`]);
}

/** The workflow's setting has to be understood: without GitHub's identity nothing is signed. */
async function publishUnsigned(): Promise<void> {
  const { isDone, output } = await run(publishing());
  check("what cannot be signed is not published", !isDone && /PROVENANCE/.test(output));
  await mustRun(publishing({ isSigned: false }));
}

/** The job fails in the middle, then is run again with the same tarballs. */
async function publishBroken(): Promise<void> {
  registry.faults.set("@durable-mcp/ai-sdk", "cut").set("@durable-mcp/oauth", "unanswered");
  const { isDone } = await run(publishing({ isSigned: false }));
  check("a broken upload fails the job", !isDone);
  const left = await plannedPackages();
  const is = (name: string) => left.includes(`@durable-mcp/${name}`);
  check("what needs the missing package waits", is("ai-sdk") && is("cli"));
  check("what does not is there", !is("core") && !is("oauth"));
  registry.faults.clear();
  await mustRun(publishing({ isSigned: false }));
  const isKnown = (await untaggedPackages()).join() === "@durable-mcp/oauth";
  check("what got no answer lacks its tag until `changeset git-tag`", isKnown);
  await mustRun(["pnpm exec changeset git-tag"]);
}

async function untaggedPackages(): Promise<string[]> {
  const { output } = await run(["git tag"]);
  const tags = readPackages(clone).map(({ name, version }) => [name, `${name}@${version}`]);
  return tags.filter(([, tag]) => !output.split("\n").includes(tag!)).map(([name]) => name!);
}

/** The commands of the job `publish`: with `isSigned: false` it asks for no provenance. */
function publishing({ isSigned = true } = {}): string[] {
  const commands = jobOf("publish");
  const word = "PNPM_CONFIG_PROVENANCE=true ";
  return isSigned ? commands : commands.map((command) => command.replace(word, ""));
}

/** The commands of a job, on a machine that has nothing of the job before but what `pnpm install` would put there. */
function jobOf(name: string): string[] {
  return ["git clean -fdxq -e node_modules", ...readJob(workflow, name)];
}

/** What the job `select` hands on. */
async function plannedPackages(): Promise<string[]> {
  await mustRun(jobOf("select"));
  const read = JSON.parse(readFileSync(plan, "utf8")) as { plan: { name: string }[][] };
  return read.plan.flat().map(({ name }) => name);
}

async function installFromRegistry(): Promise<void> {
  console.log("\nProjects that install from the registry");
  const program = join(repository, "packages/e2e/src/smoke/main.ts");
  const args = ["--conditions=@durable-mcp/source", program, ...smoke, "--registry", registry.url];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  check("they work", (await new Promise((resolve) => child.once("exit", resolve))) === 0);
}

async function mustRun(commands: readonly string[]): Promise<void> {
  const { isDone, output } = await run(commands);
  if (!isDone) throw new Error(`${commands.join("; ")} failed: ${output}`);
}

async function run(commands: readonly string[]): Promise<CommandResult> {
  return await runCommand(clone, "bash", ["-ec", commands.join("\n")]);
}

/** Prints whether something holds; others than `true` name what does not. */
function check(what: string, ...found: readonly (boolean | string)[]): void {
  const wrong = found.filter((each) => each !== true);
  if (wrong.length > 0) faults += 1;
  console.log(`  ${wrong.length === 0 ? "ok   " : "FAULT"} ${what}`);
  for (const each of wrong) if (each !== false) console.log(`    ${each}`);
}
