import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtModule } from "./programs.ts";

/** Environment of programs that many processes run: what they load is compiled once, which halves their start. */
export const compileCache = {
  NODE_COMPILE_CACHE:
    process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "durable-mcp-compile-cache"),
};

/** Arguments for Node with which a process that will be killed, too, keeps what it compiled. */
export function keepCompiled(): string[] {
  return ["--import", builtModule(new URL("./keep-compiled.ts", import.meta.url)).href];
}
