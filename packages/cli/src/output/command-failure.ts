/** Ends a command with a message on stderr. Throw it after all output is written. */
export class CommandFailure extends Error {
  /** 1 a finding or a failure, 2 wrong usage. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

export function wrongUsage(message: string): CommandFailure {
  return new CommandFailure(message, 2);
}
