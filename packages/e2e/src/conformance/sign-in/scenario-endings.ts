/** How a scenario ends for the agent and its user. */
export interface Ending {
  /**
   * - `done`: the tools were listed, and one was called.
   * - `not-started`: the user's last sign-in did not begin, because the metadata is wrong.
   * - `not-finished`: its callback was refused.
   * - `failed`: the agent failed, and the user is not asked to sign in again.
   */
  readonly ended: "done" | "not-started" | "not-finished" | "failed";
  /** How often the user was asked to sign in. */
  readonly signIns: number;
}

const endings: Readonly<Record<string, Ending>> = {
  "auth/resource-mismatch": { ended: "not-started", signIns: 1 },
  "auth/metadata-issuer-mismatch": { ended: "not-started", signIns: 1 },
  "auth/iss-supported-missing": { ended: "not-finished", signIns: 1 },
  "auth/iss-wrong-issuer": { ended: "not-finished", signIns: 1 },
  "auth/iss-unexpected": { ended: "not-finished", signIns: 1 },
  "auth/iss-normalized": { ended: "not-finished", signIns: 1 },
  "auth/scope-step-up": { ended: "done", signIns: 2 },
  "auth/scope-retry-limit": { ended: "failed", signIns: 2 },
  "auth/authorization-server-migration": { ended: "done", signIns: 2 },
  "auth/client-credentials-jwt": { ended: "done", signIns: 0 },
  "auth/client-credentials-basic": { ended: "done", signIns: 0 },
};

/** How a scenario has to end. */
export function endingOf(scenario: string): Ending {
  return endings[scenario] ?? { ended: "done", signIns: 1 };
}
