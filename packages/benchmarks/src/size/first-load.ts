import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type OutputChunk, rolldown } from "rolldown";

const folder = fileURLToPath(new URL("../../", import.meta.url));
const program = `export { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";`;

/** The bytes that a bundled program with two functions loads before it uses them. Its peers are elsewhere. */
export async function measureFirstLoad(): Promise<number> {
  const entry = `${folder}first-program.js`;
  const bundle = await rolldown({
    input: entry,
    platform: "node",
    external: [/^node:/, /^ai$/, /^@ai-sdk\//],
    plugins: [
      {
        name: "program",
        load: (id) => (id === entry ? program : null),
        resolveId: (id) => (id === entry ? id : null),
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true });
  await bundle.close();
  const chunks = new Map(
    output.flatMap((each): [string, OutputChunk][] =>
      each.type === "chunk" ? [[each.fileName, each]] : [],
    ),
  );
  const loaded = new Set<OutputChunk>();
  const visit = (name: string) => {
    const chunk = chunks.get(name);
    if (chunk === undefined || loaded.has(chunk)) return;
    loaded.add(chunk);
    chunk.imports.forEach(visit);
  };
  visit(output[0].fileName);
  return [...loaded].reduce((bytes, { code }) => bytes + gzipSync(code).length, 0);
}

/** Adds up the bytes of all files that an import loads. */
const counting = `
import { registerHooks } from "node:module";
let bytes = 0;
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    bytes += Buffer.byteLength(loaded.source ?? "");
    return loaded;
  },
});
for (const address of process.argv.slice(1)) await import(address);
console.log(bytes);
`;

/** The bytes of the modules that Node loads for the centre and a store, as they are published. */
export function measureCentreLoad(): number {
  const built = ["sessions/dist/index.js", "stores/dist/sqlite.js"];
  const addresses = built.map((path) => new URL(`../../../${path}`, import.meta.url).href);
  const options = ["--disable-warning=ExperimentalWarning", "--input-type=module"];
  return Number(execFileSync(process.execPath, [...options, "-e", counting, ...addresses]));
}
