import { freePort } from "../processes/free-port.ts";
import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import type {
  AuthorizationServerOptions,
  Commands,
  JournalEntry,
  RequestEntry,
  TokenFaultPlan,
} from "./protocol.ts";

/** `oidc-provider` in a process of its own. Killed or restarted it forgets everything. */
export interface AuthorizationServer extends TestServer {
  readonly issuer: string;
  /** All requests and revoked grants, in order. */
  journal: () => Promise<JournalEntry[]>;
  /** The requests of one kind; of token requests, those of one grant type. */
  requests: (
    kind: RequestEntry["kind"],
    grantType?: TokenFaultPlan["grantType"],
  ) => Promise<RequestEntry[]>;
  /** How often the one most used was sent in token requests; and grants gone because of a second use. */
  reuse: () => Promise<Reuse>;
  clearJournal: () => Promise<void>;
  /** Has the next token request go wrong; several plans follow one another. */
  failTokenRequests: (plan: TokenFaultPlan) => Promise<void>;
  /** Ends all access tokens. Their refresh tokens stay good. */
  expireAccessTokens: () => Promise<void>;
  /** Ends the grants of an account, with all tokens. @default of all accounts */
  revokeGrants: (account?: string) => Promise<void>;
}

interface Reuse {
  readonly refreshToken: number;
  readonly code: number;
  readonly verifier: number;
  readonly grantsRevoked: number;
}

export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const program = new URL("./authorization-server-program.ts", import.meta.url);
  const controlPort = await freePort();
  const server = await startServerProcess({
    name: "oidc-provider",
    path: "",
    args: (port) => [
      ...programArguments(program),
      ...["--port", String(port), "--control-port", String(controlPort)],
      ...["--options", JSON.stringify(options)],
    ],
  });
  const send = async <NAME extends keyof Commands>(name: NAME, command: Commands[NAME]) => {
    const response = await fetch(`http://127.0.0.1:${controlPort}/${name}`, {
      method: "POST",
      body: JSON.stringify(command),
    });
    if (!response.ok) throw new Error(`The control endpoint answered ${response.status}.`);
    return (await response.json()) as unknown;
  };
  const journal = async () => (await send("journal", {})) as JournalEntry[];
  const command =
    <NAME extends keyof Commands, ARGS extends unknown[]>(
      name: NAME,
      toCommand: (...args: ARGS) => Commands[NAME],
    ) =>
    async (...args: ARGS) =>
      void (await send(name, toCommand(...args)));
  return {
    ...server,
    issuer: server.url,
    journal,
    requests: async (kind, grantType) =>
      (await journal())
        .filter(isRequest)
        // One that lacks a nonce is not looked at.
        .filter((entry) => entry.kind === kind && entry.error !== "use_dpop_nonce")
        .filter((entry) => grantType === undefined || entry.grantType === grantType),
    reuse: async () => reuseIn(await journal()),
    clearJournal: command("clear-journal", () => ({})),
    failTokenRequests: command("fail-token-requests", (plan: TokenFaultPlan) => plan),
    expireAccessTokens: command("expire-access-tokens", () => ({})),
    revokeGrants: command("revoke-grants", (account?: string) =>
      account === undefined ? {} : { account },
    ),
  };
}

function reuseIn(journal: readonly JournalEntry[]): Reuse {
  const tokenRequests = journal
    .filter(isRequest)
    .filter(({ kind, error }) => kind === "token" && error !== "use_dpop_nonce");
  const mostUses = (name: "refreshToken" | "code" | "verifier") => {
    const uses = new Map<string, number>();
    for (const { [name]: value } of tokenRequests) {
      if (value !== undefined) uses.set(value, (uses.get(value) ?? 0) + 1);
    }
    return Math.max(0, ...uses.values());
  };
  return {
    refreshToken: mostUses("refreshToken"),
    code: mostUses("code"),
    verifier: mostUses("verifier"),
    grantsRevoked: journal.filter((entry) => !isRequest(entry) && entry.by === "token").length,
  };
}

function isRequest(entry: JournalEntry): entry is RequestEntry {
  return entry.kind !== "grant-revoked";
}
