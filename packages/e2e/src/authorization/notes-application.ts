import { McpSessionError, type Principal, type SessionStore } from "@durable-mcp/core";
import { createOAuth, type OAuth, type OAuthEvent } from "@durable-mcp/oauth";
import { bindsTokens } from "./bound-tokens.ts";
import { signInByHand } from "../../../oauth/test/scripted-user.ts";

/** What all processes of an application with one locked notebook agree on: plain JSON. */
export interface NotesUse {
  /** Of the notebook, on SDK 2. */
  readonly url: string;
  /** Nobody listens there. */
  readonly redirectUrl: string;
  /** The principal's id, and the login at the authorization server. */
  readonly user: string;
  /** How far the clock of a process is ahead, in milliseconds. @default 0 */
  readonly aheadMs?: number;
  /** Of `createOAuth`. */
  readonly timeoutMs?: number;
}

export interface NotesApplication {
  readonly oauth: OAuth;
  readonly principal: Principal;
  /** Asks the notebook for the user of the access token. */
  ask: () => Promise<Asked>;
  /** Begins a sign-in, and goes through the pages; returns the callback URL, which is not requested. */
  reachCallback: () => Promise<URL>;
  /** Opens the callback URL; returns the status of the page. */
  callback: (url: string | URL) => Promise<number>;
  /** A whole sign-in. */
  signIn: () => Promise<void>;
}

interface Asked {
  /** The user, or else the code of the error or the status of the answer. */
  readonly outcome: string;
  /** The words of the error. */
  readonly words: string;
}

const encryptionKey = new Uint8Array(32).fill(16);

/** The application, as each of its processes makes it. */
export function createNotesApplication(
  { url, redirectUrl, user, aheadMs = 0, timeoutMs }: NotesUse,
  parts: {
    readonly store: SessionStore;
    /** Makes the requests to the authorization server. */
    readonly fetch?: typeof fetch;
    /** Makes the requests to the notebook. */
    readonly notebookFetch?: typeof fetch;
    readonly onEvent?: (event: OAuthEvent) => void;
  },
): NotesApplication {
  const { store, fetch, notebookFetch, onEvent } = parts;
  const principal: Principal = { type: "user", issuer: "https://idp.test", id: user };
  const connection = "notes";
  const oauth = createOAuth({
    ...{ store, keys: { current: encryptionKey }, redirectUrl, clientName: "Notes" },
    ...(fetch && { fetch }),
    ...(bindsTokens() && { dpop: "required" as const }),
    ...{ timeoutMs, onEvent },
    now: () => Date.now() + aheadMs,
  });
  const { fetch: send } = oauth.connect({ principal, url, connection, fetch: notebookFetch });

  const reachCallback = async () => {
    const request = new Request(new URL("start", redirectUrl));
    const { headers } = await oauth.start(request, { principal, connection, url });
    const location = new URL(headers.get("location")!);
    return await signInByHand(location, redirectUrl, "consent", user);
  };
  const callback = async (callbackUrl: string | URL) =>
    (await oauth.callback(new Request(callbackUrl), { principal })).status;
  return {
    ...{ oauth, principal, reachCallback, callback },
    ask: () => askWhose(send, url).catch(inWords),
    async signIn() {
      const status = await callback(await reachCallback());
      if (status !== 200) throw new Error(`The callback answered ${status}.`);
    },
  };
}

/** One request of revision 2026-07-28, which needs no session. */
async function askWhose(send: typeof fetch, url: string): Promise<Asked> {
  const version = "2026-07-28";
  const metadata = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const [method, name] = ["tools/call", "whose"];
  const response = await send(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
      "mcp-name": name,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method },
      params: { name, arguments: {}, _meta: metadata },
    }),
  });
  const text = await response.text();
  const user = /"text":"([^"]*)"/.exec(text)?.[1];
  return { outcome: user ?? String(response.status), words: text };
}

function inWords(error: unknown): Asked {
  const outcome = McpSessionError.isInstance(error) ? error.code : "error";
  return { outcome, words: String(error) };
}
