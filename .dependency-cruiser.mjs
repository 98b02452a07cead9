// Imports go one way: no circle of files and none of folders in any package, type imports included.
// Tests may import from any room.
const aiSdkRooms = "^packages/ai-sdk/src/(client|tool-set|messages|face|agent|chat)/";

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
      comment: "What knows AI SDK is handed in, as an opener of clients or a face of runs.",
      severity: "error",
      from: { path: "^packages/ai-sdk/src/[\\w-]+/", pathNot: aiSdkRooms },
      to: { path: aiSdkRooms },
    },
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
