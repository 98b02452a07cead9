/**
 * Functions that `@durable-mcp/cli` needs to find out where users sign in, and where they come back. Not for applications: they
 * may change with every release, and all packages are released together.
 */
export { createGuardedFetch } from "./guard/guarded-fetch.ts";
export { checkRedirectUrl } from "./oauth-options.ts";
export { discover, type Discovered } from "./protocol/discover.ts";
