/** A Cloudflare Worker that runs the tests of the suite on request: on D1, and in a Durable Object. */
import type { SessionStore } from "@durable-mcp/core";
import { testSessionStore } from "@durable-mcp/testing/store";
import { createD1Store, type D1Database } from "../src/d1.ts";
import { createDurableObjectStore, type DurableObjectStorage } from "../src/durable-object.ts";

/** One test of the suite, a caller that counts up a key, or a read of a table that nobody made. */
export type SuiteTask =
  | { readonly title: string }
  | { readonly key: string; readonly times: number }
  | { readonly table: string };

/** What came of it: an error, with its stack; or the value that a caller left, and how often others were faster. */
export interface SuiteAnswer {
  readonly error?: string;
  readonly value?: number;
  readonly conflicts?: number;
}

interface Env {
  readonly DB: D1Database;
  readonly OBJECT: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

export default {
  async fetch(request: Request, { DB, OBJECT }: Env): Promise<Response> {
    if (new URL(request.url).pathname === "/object")
      return OBJECT.getByName("suite").fetch(request);
    const open = async (table?: string) => {
      const store = createD1Store({ database: DB, table });
      if (table !== undefined) return { store };
      await store.createTables();
      return { store };
    };
    const plant = (text: string, key: string) => DB.prepare(planting).bind(text, key).all();
    return await answer(request, open, plant);
  },
};

/** The same in a Durable Object. */
export class SuiteObject {
  readonly #storage: DurableObjectStorage;

  constructor({ storage }: { readonly storage: DurableObjectStorage }) {
    this.#storage = storage;
  }

  async fetch(request: Request): Promise<Response> {
    const storage = this.#storage;
    const open = async (table?: string) => {
      const store = createDurableObjectStore({ storage, table });
      if (table !== undefined) return { store };
      await store.createTables();
      return { store };
    };
    const plant = async (text: string, key: string) => storage.sql.exec(planting, text, key);
    return await answer(request, open, plant);
  }
}

const planting = "UPDATE mcp_sessions SET value = ? WHERE key = ?";

async function answer(
  request: Request,
  open: (table?: string) => Promise<{ store: SessionStore }>,
  plant: (text: string, key: string) => Promise<unknown>,
): Promise<Response> {
  const task = (await request.json()) as SuiteTask;
  const tests = new Map<string, () => Promise<void>>();
  testSessionStore({
    test: (title, run) => tests.set(title, run),
    open: () => open(),
    hasConnection: false,
    plant: async (key, text) => void (await plant(text, key)),
  });
  try {
    if ("key" in task) return Response.json(await countUp((await open()).store, task));
    if ("table" in task) await (await open(task.table)).store.get("k");
    else await tests.get(task.title)!();
    return Response.json({} satisfies SuiteAnswer);
  } catch (error) {
    const text = error instanceof Error ? `${error.stack} ${String(error.cause)}` : String(error);
    return Response.json({ error: text } satisfies SuiteAnswer);
  }
}

/** Adds 1 to a value, `times` times. */
async function countUp(
  store: SessionStore,
  { key, times }: { readonly key: string; readonly times: number },
): Promise<SuiteAnswer> {
  let conflicts = 0;
  let value = 0;
  for (let done = 0; done < times;) {
    const before = await store.get(key);
    // Others write meanwhile. Without this a fast store serves one caller after the other.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    value = Number(before?.value ?? 0) + 1;
    const { ok } = await store.put(key, value, before?.revision ?? null, { owner: key });
    if (ok) done += 1;
    else conflicts += 1;
  }
  return { value, conflicts };
}
