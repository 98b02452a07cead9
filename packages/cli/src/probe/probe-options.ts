/** The options of `probe`, as the command line has them. */
export interface ProbeOptions {
  readonly json?: true;
  readonly call?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Names of variables, by header. */
  readonly headerEnv?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
  /** In seconds. */
  readonly timeout: number;
  readonly callTimeout: number;
  readonly watch: number;
}
