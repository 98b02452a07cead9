/** A message from the program to its supervisor. */
export type SupervisorOrder =
  | {
      readonly type: "start";
      readonly command: string;
      readonly args: readonly string[];
      /** The whole environment of the server, the mark included. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
      /** `NAME=value`, which marks the processes of this server. */
      readonly mark: string;
      /** How long the server has to end by itself, and again after SIGTERM, in milliseconds. */
      readonly closeMs: number;
    }
  | { readonly type: "end" };

/** Sent by a supervisor as soon as the server's own process has ended. */
export interface SupervisorNotice {
  readonly type: "exited";
}

/** Sent by a supervisor when all the server's processes have ended. */
export type SupervisorReport =
  | { readonly type: "not-started"; readonly reason: string }
  | {
      readonly type: "ended";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    };
