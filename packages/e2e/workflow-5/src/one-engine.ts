import { registerHooks } from "node:module";

/** Has all packages use this package's Workflow SDK: `@durable-mcp/workflow` has an older one for its own tests. */
export function useOneEngine(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      /^workflow(?:\/|$)/.test(specifier)
        ? next(specifier, { ...context, parentURL: import.meta.url })
        : next(specifier, context),
  });
}
