/**
 * Functions that `@durable-mcp/cli` needs to talk to a program. Not for applications: they may change with every
 * release, and all packages are released together.
 */
export { createLineReader } from "./message-lines.ts";
export { createOutputTail, describeEnd } from "./stdio-errors.ts";
export { type SupervisedProcess, startSupervisedProcess } from "./supervised-process.ts";
