/** `npm run lab -- due --store sqlite|postgres|redis --workers 10 --calls 1000`: workers on `sessions.admin.due`. */
import { printFaults, readKillOptions } from "./command.ts";
import { runDueWorkers } from "../waiting/due-workers.ts";

const { store, workers, calls } = readKillOptions({ workers: 10, calls: 1_000 });
const { looks, seconds, faults } = await runDueWorkers({ store, workers, calls });
console.log(
  `${store}, ${workers} workers, ${calls} calls: ${looks} looks in ${seconds} s, ${faults.length} faults`,
);
printFaults(faults);
