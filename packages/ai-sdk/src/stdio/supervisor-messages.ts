/** What a program tells its supervisor. */
export type SupervisorOrder =
  | {
      readonly type: "start";
      readonly command: string;
      readonly args: readonly string[];
      /** The whole environment of the server, the mark included. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
      /** `NAME=value`: what the processes of this server are known by. */
      readonly mark: string;
      /** How long the server has to end by itself, and again after SIGTERM, in milliseconds. */
      readonly closeMs: number;
    }
  | { readonly type: "end" };

/** What a supervisor says as soon as the server's own process has ended. */
export interface SupervisorNotice {
  readonly type: "exited";
}

/** What a supervisor says at last, when nothing of the server is left. */
export type SupervisorReport =
  | { readonly type: "not-started"; readonly reason: string }
  | {
      readonly type: "ended";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    };
