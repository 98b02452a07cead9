import { inspect } from "node:util";
import { McpSessionError } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import {
  createScenarioOAuth,
  type ScenarioApplication,
  type SignInContext,
} from "./create-scenario-oauth.ts";
import { loadSignInClient, type SignInClientName } from "../any-client.ts";
import type { SignInClient } from "./sign-in-client.ts";

/** What one process does. */
export type PartName = keyof typeof parts;

/** What the processes of a scenario share, and the URL to which the user's browser was sent back. */
export interface PartInput {
  readonly storePath: string;
  /** Seals the store. */
  readonly key: string;
  readonly callbackUrl?: string | undefined;
}

/** What became of it. */
export type PartOutcome =
  | { readonly type: "done" }
  /** The user has to sign in. */
  | { readonly type: "sign-in" }
  | { readonly type: "failed"; readonly error: string }
  /** What a route answers the browser. */
  | { readonly type: "redirect"; readonly location: string }
  | { readonly type: "page"; readonly status: number };

interface Part extends PartInput {
  readonly name: PartName;
  readonly client: SignInClientName;
  readonly scenario: string;
  readonly context: SignInContext;
  readonly url: string;
}

export async function runPart({ name, client, ...task }: Part): Promise<PartOutcome> {
  const store = createSqliteStore({ path: task.storePath });
  let opened: SignInClient | undefined;
  try {
    const application = await createScenarioOAuth({ ...task, store });
    const open = async () => {
      const openClient = await loadSignInClient(client);
      return (opened = await openClient({ ...application, ...task, store }));
    };
    return await parts[name](open, application, task.callbackUrl ?? "");
  } catch (error) {
    return needsSignIn(error)
      ? { type: "sign-in" }
      : { type: "failed", error: inspect(error, { depth: 8 }) };
  } finally {
    await opened?.close();
    await store.close();
  }
}

type Open = () => Promise<SignInClient>;

const parts = {
  async list(open: Open): Promise<PartOutcome> {
    await firstTool(await open());
    return { type: "done" };
  },
  async call(open: Open): Promise<PartOutcome> {
    const client = await open();
    const called = await client.callTool(await firstTool(client));
    return { type: "text" in called ? "done" : "sign-in" };
  },
  async start(open: Open, { oauth, principal }: ScenarioApplication) {
    const startUrl = await (await open()).startUrl();
    if (startUrl === undefined) throw new Error("nothing waits for a sign-in");
    return answered(await oauth.start(new Request(startUrl), { principal }));
  },
  async callback(_open: Open, { oauth, principal }: ScenarioApplication, callbackUrl: string) {
    return answered(await oauth.callback(new Request(callbackUrl), { principal }));
  },
};

async function firstTool(client: SignInClient): Promise<string> {
  const [tool] = await client.listTools();
  if (tool === undefined) throw new Error("the server listed no tool");
  return tool;
}

function answered({ status, headers }: Response): PartOutcome {
  const location = headers.get("location");
  return location === null ? { type: "page", status } : { type: "redirect", location };
}

/** Some clients hide what their `fetch` threw in a cause. */
function needsSignIn(error: unknown): boolean {
  if (McpSessionError.isInstance(error)) return error.code === "AUTHORIZATION_REQUIRED";
  return error instanceof Error && needsSignIn(error.cause);
}
