/** The options of `timeline`, as the command line has them. */
export interface TimelineOptions {
  readonly out: string;
  readonly svg?: string;
  readonly session?: string;
  readonly json?: boolean;
}
