import { pathToFileURL } from "node:url";

/** Path of the main module of miniflare. It is large, so CI installs it and others may. */
export const miniflare = process.env["MINIFLARE"] || undefined;

/** A Worker in Cloudflare's runtime, with its databases. */
export interface RunningWorker {
  /** Sends JSON, and gives the JSON of the answer. */
  readonly post: (path: string, body: object) => Promise<unknown>;
  /** Runs statements in a D1 database. */
  readonly runInD1: (binding: string, statements: readonly string[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface Miniflare {
  readonly ready: Promise<URL>;
  getD1Database(binding: string): Promise<{ prepare(sql: string): { run(): Promise<unknown> } }>;
  dispose(): Promise<void>;
}

/**
 * @param script the code, as `bundleWorker` makes it
 * @param options of miniflare: the bindings, and where it keeps their data
 */
export async function startWorker(script: string, options: object): Promise<RunningWorker> {
  const module = (await import(pathToFileURL(miniflare!).href)) as {
    Miniflare: new (options: object) => Miniflare;
  };
  const runtime = new module.Miniflare({
    modules: true,
    script,
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["nodejs_compat"],
    ...options,
  });
  const url = await runtime.ready;
  return {
    async post(path, body) {
      const response = await fetch(new URL(path, url), {
        method: "POST",
        body: JSON.stringify(body),
        // The runtime closes idle connections, perhaps as the next request goes out.
        headers: { connection: "close" },
      });
      if (!response.ok) throw new Error(`The Worker failed: ${await response.text()}`);
      return await response.json();
    },
    async runInD1(binding, statements) {
      const database = await runtime.getD1Database(binding);
      for (const sql of statements) await database.prepare(sql).run();
    },
    stop: () => runtime.dispose(),
  };
}
