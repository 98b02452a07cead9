import { fileURLToPath } from "node:url";

const pathOf = (name: string) =>
  fileURLToPath(new URL(`../.workflow-app/${name}`, import.meta.url));

/** Modules with a `POST` each, which the engine's jobs are given to. A file of its own: no step loads the builder. */
export const bundles = { flow: pathOf("flow.mjs"), step: pathOf("step.mjs") };
