/** What is done with each server that asks. */
export const askingScenarios = [
  "answered",
  "two answers at once",
  "server restarted",
  "state expired",
] as const;

export type AskingScenario = (typeof askingScenarios)[number];
