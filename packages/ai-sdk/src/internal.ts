/** What other packages of this project need of AI SDK's tools. Not for applications: it may change with every release. */
export { standInFor } from "./tool-set/stand-in-tool.ts";
