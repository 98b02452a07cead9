import { isBuiltin } from "node:module";
import type { PageBlock } from "./page-blocks.ts";

/** What a page imports, and its own `npm install` does not bring. A page without one is for readers who have it. */
export function missingInstallations(blocks: readonly PageBlock[]): string[] {
  return Object.values(Object.groupBy(blocks, ({ page }) => page)).flatMap((ofPage = []) => {
    const lines = ofPage.filter(({ isShell }) => isShell).flatMap(({ code }) => installed(code));
    if (lines.length === 0) return [];
    const names = new Set(lines);
    return ofPage
      .filter(({ isShell }) => !isShell)
      .flatMap(({ page, line, code }) =>
        importsOf(code)
          .filter((name) => !names.has(name) && !isBuiltin(name) && !name.startsWith("."))
          .map(
            (name) => `${page}:${line} imports ${name}, which no npm install of the page brings.`,
          ),
      );
  });
}

/** The packages of `npm install` lines, with those that go on in the next line. */
function installed(code: string): string[] {
  const lines = code.replaceAll("\\\n", " ").matchAll(/npm install ([^#\n]*)/g);
  return [...lines].flatMap(([, names = ""]) =>
    names
      .split(/\s+/)
      .filter((name) => name !== "" && !name.startsWith("-"))
      .map((name) => name.replace(/(?<=.)@[^@/]*$/, "")),
  );
}

function importsOf(code: string): string[] {
  const froms = code.matchAll(/^(?:import (?!type )|\} )(?:.* )?from "([^"]+)"/gm);
  return [...froms].map(([, from = ""]) => /^(@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from);
}
