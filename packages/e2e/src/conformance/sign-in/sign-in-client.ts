import type { Principal, SessionStore } from "@durable-mcp/core";
import type { OAuth } from "@durable-mcp/oauth";
import type { Called } from "../legs/leg-client.ts";

/** What the scenarios about authorization need of a client, which lives for one process. */
export interface SignInClient {
  /** Gives the names of the server's tools. */
  listTools: () => Promise<string[]>;
  /** Calls a tool. Where a call of it waits, that one goes on. */
  callTool: (name: string) => Promise<Called>;
  /** Where the sign-in begins that the client waits for; `undefined` if it waits for none. */
  startUrl: () => Promise<string | undefined>;
  close: () => Promise<void>;
}

interface SignInClientOptions {
  readonly url: string;
  readonly principal: Principal;
  readonly oauth: OAuth;
  /** The one of `oauth`, which all processes of a scenario share. */
  readonly store: SessionStore;
  /** The file of the store. */
  readonly storePath: string;
}

export type OpenSignInClient = (options: SignInClientOptions) => Promise<SignInClient>;
