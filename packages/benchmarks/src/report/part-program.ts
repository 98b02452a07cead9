/** Measures one part for program.ts, its parent: `part-program.ts <part> <options as JSON>`. */
import { parts } from "../parts.ts";
import type { BenchOptions } from "./part.ts";

const [, , id = "", options = "{}"] = process.argv;
const { load } = parts.find((one) => one.id === id)!;
const measure = await load();
const part = await measure(JSON.parse(options) as BenchOptions);
process.send!(part, () => process.exit());
