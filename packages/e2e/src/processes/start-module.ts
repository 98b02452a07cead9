import { startStep, type Step, type StepOptions } from "@durable-mcp/testing";
import { compileCache, keepCompiled } from "./compile-cache.ts";
import { builtModule } from "./programs.ts";

/** Starts a module of ours as a step in a process of its own: its bundle while tests run. */
export function startModule<INPUT, OUTPUT>(
  source: URL,
  options: StepOptions<INPUT>,
): Promise<Step<OUTPUT>> {
  const settings = { env: compileCache, execArgv: keepCompiled() };
  return startStep<INPUT, OUTPUT>(builtModule(source), { ...settings, ...options });
}
