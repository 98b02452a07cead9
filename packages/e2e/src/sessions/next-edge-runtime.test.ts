import { AsyncLocalStorage } from "node:async_hooks";
import { fileURLToPath } from "node:url";
import { EdgeRuntime } from "edge-runtime";
import { build } from "rolldown";
import { beforeAll, describe, expect, it } from "vitest";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";

type Step = (
  url: string,
  saved: unknown,
  calls: { name: string; arguments: object }[],
) => Promise<{ results: unknown[]; saved: unknown }>;

/** Next's stand-in for Node's `process`: its functions are there, and throw. */
const nextProcess = {
  env: {},
  getBuiltinModule() {
    throw new Error("A Node.js API is used (process.getBuiltinModule) in the Edge Runtime.");
  },
};

/** With what Next adds to the `edge-runtime` package, and without. */
const kinds: [string, step: "stepOnCore" | "stepOnProvider", globals: object][] = [
  ["the session fetch and a client", "stepOnCore", {}],
  ["a provider", "stepOnProvider", {}],
  ["a provider, with Next's process", "stepOnProvider", { process: nextProcess }],
  [
    "a provider, with all of Next's globals",
    "stepOnProvider",
    { process: nextProcess, AsyncLocalStorage },
  ],
];

const notebook = useServer(startNotebookServer);
let program: string;
beforeAll(async () => {
  const bundle = await build({
    input: fileURLToPath(new URL("../fixtures/next-edge-steps.ts", import.meta.url)),
    platform: "browser",
    resolve: { conditionNames: ["@durable-mcp/source", "edge-light", "browser", "import"] },
    output: { format: "iife" },
    write: false,
    logLevel: "silent",
  });
  program = bundle.output[0].code;
});

describe("on the edge-runtime package", () => {
  it.each(kinds)(
    "keeps one session over two processes and recovers it, with %s (S56, S59)",
    async (_, name, globals) => {
      const { server, proxy } = notebook;
      const step: Step = async (...args) => {
        const runtime = new EdgeRuntime({ extend: (context) => Object.assign(context, globals) });
        runtime.evaluate(program);
        const steps = runtime.context as unknown as Record<typeof name, Step>;
        return await steps[name](...args);
      };
      const add = { name: "add_note", arguments: { text: "from the edge" } };
      const list = { name: "list_notes", arguments: {} };
      const first = await step(proxy.url, undefined, [add]);
      proxy.requests.splice(0);
      const second = await step(proxy.url, first.saved, [list, list]);
      expect(JSON.stringify(second.results)).toContain("from the edge");
      expect(proxy.requests.splice(0)).toHaveLength(2);
      await server.forget();
      const third = await step(proxy.url, second.saved, [list]);
      expect(JSON.stringify(third.results)).not.toContain("from the edge");
      expect(JSON.stringify(third.saved)).toContain('"session"');
    },
  );
});
