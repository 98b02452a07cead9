import { type Requirement, specLink } from "./requirement.ts";
import { requirementSections } from "./requirements.ts";

/** Where the page is, from the root of the repository. */
export const requirementsPagePath = "docs/reports/requirements.md";

const sources = "https://github.com/durable-mcp/durable-mcp/blob/main/packages/";

const intro = `# Requirements

The Model Context Protocol's requirements for clients on sessions, the version header, streams, fallback and questions to a person, in all revisions up to 2026-07-28, and requirements for servers that a client can notice. Each has the tests that cover it; a number counts those of a file.

\`npm run requirements\` writes this page from the manifest in \`packages/e2e/src/requirements/\`, which names the tests by their titles. A test fails if a requirement is not covered, if a named test is gone, if a test's title cites an unknown id, or if this page is not up to date.
`;

/** The reader's page, as Markdown. */
export function requirementsPage(): string {
  const sections = requirementSections.map(
    ({ title, requirements }) => `## ${title}\n\n${table(requirements)}`,
  );
  return [intro, ...sections].join("\n");
}

function table(requirements: readonly Requirement[]): string {
  const rows = requirements.map((requirement) =>
    [
      requirement.id,
      requirement.role,
      requirement.level,
      requirement.statement,
      specLinks(requirement),
      coverage(requirement),
    ].join(" | "),
  );
  const head = [
    "id | of | level | requirement | specification | covered by",
    "--- | --- | --- | --- | --- | ---",
  ];
  return [...head, ...rows].map((row) => `| ${row} |\n`).join("");
}

function specLinks({ spec }: Requirement): string {
  return spec
    .flatMap((place) =>
      place.revisions.map((revision) => `[${revision}](${specLink(place, revision)})`),
    )
    .join(", ");
}

function coverage({ tests = {}, note, role }: Requirement): string {
  const lines = Object.entries(tests).map(([file, titles]) => {
    const count = titles.length > 1 ? ` (${titles.length})` : "";
    return `[${file.replace("/src/", "/").replace(".test.ts", "")}](${sources}${file})${count}`;
  });
  if (note !== undefined) lines.push(note);
  if (lines.length === 0) lines.push(role === "server" ? "the server's" : "");
  return lines.join("<br>");
}
