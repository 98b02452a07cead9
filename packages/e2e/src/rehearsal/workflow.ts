import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface Workflow {
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  }[];
}

/** What the actions run, by their source at the commit that the workflow pins. `""`: they prepare the machine. */
const commandOf: Readonly<Record<string, string>> = {
  "actions/checkout": "",
  "actions/setup-node": "",
  "changesets/action/select-mode": 'pnpm exec changeset publish-plan --output "$PLAN"',
  "changesets/action/version": "npm run version-packages",
  "changesets/action/pack":
    'pnpm exec changeset pack --from-publish-plan "$PLAN" --out-dir "$PACKED"',
  "changesets/action/publish": 'pnpm exec changeset publish --from-pack-dir "$PACKED"',
};

/** @returns the commands of a job of `release.yml`, for a shell. Throws for an action that this file does not know. */
export function readJob(file: string, name: string): string[] {
  const job = (parse(readFileSync(file, "utf8")) as Workflow).jobs[name];
  if (job === undefined) throw new Error(`${file} has no job ${name} any more.`);
  return job.steps.flatMap(({ uses = "", run, with: inputs, env = {} }) => {
    const command = run ?? inputs?.["script"] ?? commandOf[uses.split("@")[0] ?? ""];
    if (command === undefined) throw new Error(`Say in rehearsal/workflow.ts what ${uses} runs.`);
    const isOfMachine = command === "" || command.startsWith("npm install --global ");
    const settings = Object.entries(env).map((entry) => `${entry.join("=")} `);
    return isOfMachine ? [] : [settings.join("") + command];
  });
}

/** What only GitHub and npm can do: what the file has to say for it, and whether it does. */
export function readPermissions(file: string): [what: string, isRight: boolean][] {
  const text = readFileSync(file, "utf8");
  const { jobs } = parse(text) as Workflow;
  const may = (job: string, scope: string) => jobs[job]?.permissions?.[scope] === "write";
  const withIdentity = Object.keys(jobs).filter((job) => may(job, "id-token"));
  const isTrusted = withIdentity.join() === "publish" && jobs["publish"]?.environment === "npm";
  return [
    [
      "trusted publishing: the job publish alone has id-token: write, in environment npm",
      isTrusted,
    ],
    ["and no token of npm", !/NPM_TOKEN|NODE_AUTH_TOKEN/.test(text)],
    ["provenance: PNPM_CONFIG_PROVENANCE", /PNPM_CONFIG_PROVENANCE: "true"/.test(text)],
    ["tags and GitHub releases: publish has contents: write", may("publish", "contents")],
    ["the pull request: version has pull-requests: write", may("version", "pull-requests")],
  ];
}
