import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "rolldown/utils";

interface MarkdownBlock {
  readonly language: string;
  readonly line: number;
  readonly code: string;
  readonly given?: { readonly code: string };
  readonly from?: string;
  readonly notRun?: string;
}

const reader: string = "../../../../../scripts/read-markdown.mjs";
const markdown = (await import(reader)) as {
  readonly readMarkdown: (text: string) => { readonly blocks: readonly MarkdownBlock[] };
};

/** What a page shows to be run: a module, or lines for a shell. */
export interface PageBlock {
  readonly page: string;
  readonly line: number;
  readonly code: string;
  /** What the page takes as given. */
  readonly given: string;
  readonly isShell: boolean;
  /** The name of its file. */
  readonly name: string;
  /** Programs of the page that a shell starts, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** Why it is not run. */
  readonly notRun?: string;
}

/** The pages whose blocks are run; reports are about this repository. */
const pages = [
  ...["README.md", "packages/*/README.md", "docs/{index,getting-started,errors}.md"],
  "docs/{guides,clients,deploy,agents,reference}/*.md",
];

/** Commands of a clone, of which a reader of the package has nothing. `npm run docs:check` knows them. */
const ofClone = /^(npm (run|test)|pnpm) /m;

/** All blocks that are programs: not those that are parts of files, which are run where they are. */
export function readPageBlocks(root: string): PageBlock[] {
  return globSync(pages, { cwd: root })
    .toSorted()
    .flatMap((page) => {
      const { blocks } = markdown.readMarkdown(readFileSync(join(root, page), "utf8"));
      return blocks
        .filter(({ language, from }) => /^(ts|tsx|diff|sh)$/.test(language) && from === undefined)
        .filter(({ language, code }) => language !== "sh" || !ofClone.test(code))
        .map((block) => {
          const isShell = block.language === "sh";
          return {
            ...{
              page,
              line: block.line,
              isShell,
              name: block.language === "tsx" ? "block.js" : "block.ts",
            },
            ...{ code: programOf(block), given: block.given?.code ?? "" },
            files: isShell ? filesOf(block, blocks) : {},
            ...(block.notRun !== undefined && { notRun: block.notRun }),
          };
        });
    });
}

function programOf({ language, code }: MarkdownBlock): string {
  if (language === "diff") return code.replaceAll(/^-.*\n|^[+ ]/gm, "");
  if (language !== "tsx") return code;
  return transformSync("block.tsx", code, { jsx: { runtime: "automatic" } }).code;
}

/** `node step.ts` starts the module that the page shows before, or else the first one after it. */
function filesOf(shell: MarkdownBlock, blocks: readonly MarkdownBlock[]): Record<string, string> {
  const modules = blocks.filter(({ language }) => language === "ts");
  const before = modules.findLast(({ line }) => line < shell.line) ?? modules[0];
  const names = new Set([...shell.code.matchAll(/^node (\S+\.ts)/gm)].map(([, name]) => name!));
  return Object.fromEntries([...names].map((name) => [name, before?.code ?? ""]));
}
