/** What a check has found in one project. */
export interface Finding {
  /** `"note"`: of a dependency, or as it has to be; nothing to repair here. */
  readonly kind: "failure" | "note";
  /** What was tried: a module resolution, a release of Node. */
  readonly mode: string;
  readonly problem: string;
  /** What to do. */
  readonly fix: string;
}
