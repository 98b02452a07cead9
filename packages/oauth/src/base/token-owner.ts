import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";

/** Whether a principal may have tokens. All anonymous visitors are one principal, and would share one person's. */
export function mayOwnTokens(principal: Principal | undefined): boolean {
  return principal !== undefined && principal.type !== "anonymous";
}

/** @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID` */
export function checkOwner(principal: Principal | undefined): asserts principal is Principal {
  principalParts(principal);
  if (mayOwnTokens(principal)) return;
  throw new McpSessionError(
    "PRINCIPAL_REQUIRED",
    'principal must be a user, or { type: "app" }, to sign in: all anonymous visitors would share the tokens of one.',
    { data: { field: "principal" } },
  );
}
