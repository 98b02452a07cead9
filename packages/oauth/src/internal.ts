/**
 * Functions that `@durable-mcp/cli` needs to find out where the users of a server sign in. Not for applications: they
 * may change with every release, and all packages are released together.
 */
export { createGuardedFetch } from "./guard/guarded-fetch.ts";
export { discover, type Discovered } from "./protocol/discover.ts";
