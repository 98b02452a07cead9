import { builtinModules } from "node:module";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "rolldown";

/** Bundles a Worker from source, for `nodejs_compat`. Returns its code. */
export async function bundleWorker(entry: URL): Promise<string> {
  const { output } = await build({
    input: fileURLToPath(entry),
    platform: "browser",
    resolve: { conditionNames: ["@durable-mcp/source", "workerd", "worker"] },
    external: ["cloudflare:sockets", "pg-native"],
    plugins: [nodeBuiltins],
    output: { format: "esm", codeSplitting: false },
    write: false,
    logLevel: "silent",
  });
  return output[0].code;
}

/** The runtime has Node's modules, but no `require`: as bundlers for Workers do. */
const nodeBuiltins: Plugin = {
  name: "node-builtins",
  resolveId: (id) => {
    const name = id.replace(/^node:/, "");
    return builtinModules.includes(name) ? { id: `\0builtin:${name}` } : undefined;
  },
  load: (id) => {
    const [, name] = /^\0builtin:(.*)$/.exec(id) ?? [];
    return name && `module.exports = globalThis.process.getBuiltinModule("node:${name}")`;
  },
};
