// Imports go one way: no circle of files and none of folders in any package, type imports included.
// Tests may import from any room.
const rooms =
  "base events declare connection tools stdio waiting records http run sessions management create opentelemetry event-log studio".split(
    " ",
  );

/** Packages that bring sessions to a framework, to its pages, or to other programs. */
const leaves = "ai-sdk langchain openai-agents workflow gateway react".split(" ");

/** What a room of sessions may not import: the rooms above it. */
const roomsLookDown = rooms.slice(0, -1).map((room, place) => ({
  name: `sessions-${room}-imports-no-room-above`,
  comment: "Move what both need to the lower room, or hand it in.",
  severity: "error",
  from: { path: `^packages/sessions/src/${room}/` },
  to: { path: `^packages/sessions/src/(${rooms.slice(place + 1).join("|")})/` },
}));

const leavesAreApart = leaves.map((leaf) => ({
  name: `${leaf}-imports-no-other-leaf`,
  comment: "What two frameworks' packages need belongs to sessions.",
  severity: "error",
  from: { path: `^packages/${leaf}/src/` },
  to: {
    path: `^packages/(${leaves.filter((other) => other !== leaf).join("|")})/`,
  },
}));

export default {
  forbidden: [
    {
      name: "no-circle-of-files",
      comment: "Move the type or the function that both need to a file below them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-circle-of-folders",
      comment: "Rooms import one way: ARCHITECTURE.md has their order.",
      severity: "error",
      scope: "folder",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-framework-in-the-centre",
      comment: "What knows a framework is handed in, as an opener of clients or a face of runs.",
      severity: "error",
      from: { path: "^packages/(core|sessions)/src/" },
      to: { path: `^packages/(${leaves.join("|")})/` },
    },
    ...roomsLookDown,
    ...leavesAreApart,
    {
      name: "no-leaf-beneath-the-gateway",
      comment: "The gateway has core, and of the package of sessions what one file names.",
      severity: "error",
      from: { path: "^packages/gateway/src/", pathNot: "/base/centre\\.ts$" },
      to: { path: "^packages/(?!core/|gateway/)" },
    },
    {
      name: "no-unresolved-import",
      comment: "An import that is not found is one whose direction nobody checks.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, path: "^\\.", dependencyTypesNot: ["core"] },
    },
  ],
  options: {
    parser: "swc", // the TypeScript parser knows no version 7
    tsPreCompilationDeps: true,
    includeOnly: "^packages/",
    exclude: { path: "\\.test(-d)?\\.tsx?$|/dist/|/releases/.*\\.mjs$|node_modules|/\\.workflow" },
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".mjs", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["@durable-mcp/source", "import", "node", "default"],
    },
  },
};
