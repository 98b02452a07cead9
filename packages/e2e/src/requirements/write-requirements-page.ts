import { writeFileSync } from "node:fs";
import { requirementsPage, requirementsPagePath } from "./requirements-page.ts";

// npm run requirements
const root = new URL("../../../../", import.meta.url);
writeFileSync(new URL(requirementsPagePath, root), requirementsPage());
console.log(`${requirementsPagePath} is up to date.`);
