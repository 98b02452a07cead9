export { createStudio, type StudioOptions } from "./create-studio.ts";
export type { Operator, OperatorMay } from "./operator.ts";
export type { StudioNames } from "./lists.ts";
