export { createStudio, type StudioOptions } from "./create-studio.ts";
export type { Operator, OperatorMay } from "./guards.ts";
export type { StudioNames } from "./lists.ts";
