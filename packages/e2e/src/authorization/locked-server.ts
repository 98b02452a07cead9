import { programArguments } from "../processes/programs.ts";
import { type FixtureServer, startNotebookProgram } from "../servers/fixture-server.ts";

/** An MCP server that needs an access token. Its journal outlives `kill` and `restart`. */
export interface LockedServer extends FixtureServer {
  /** How often a tool was carried out with these words in its arguments. */
  runs: (text: string) => number;
  /** Messages that were answered 401 or 403. */
  refusals: () => Refusal[];
}

interface Refusal {
  readonly refused: 401 | 403;
  /** Of JSON-RPC. */
  readonly method: string;
  readonly tool?: string;
}

interface LockedServerOptions {
  /** 1: sessions alone. 2: 2026-07-28 without sessions, and sessions for older clients. */
  readonly sdk: 1 | 2;
  /** Of the authorization server, which runs already. */
  readonly issuer: string;
}

/** Starts a notebook that is locked: `notes:read` for every request, `notes:delete` for the tool `delete_notes`. */
export async function startLockedServer({
  sdk,
  issuer,
}: LockedServerOptions): Promise<LockedServer> {
  const program = new URL(`./locked-v${sdk}-program.ts`, import.meta.url);
  const args = [...programArguments(program), "--issuer", issuer];
  const server = await startNotebookProgram({ name: `locked notebook on SDK ${sdk}`, args });
  return {
    ...server,
    refusals: () =>
      server
        .journal()
        .map((line) => JSON.parse(line) as Partial<Refusal>)
        .filter((entry): entry is Refusal => entry.refused !== undefined),
  };
}
