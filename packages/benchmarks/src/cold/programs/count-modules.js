// Counts the modules that a process loads, Node's own aside: node --import ./count-modules.js <program>
import { registerHooks } from "node:module";

let modules = 0;
registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith("file:")) modules += 1;
    return nextLoad(url, context);
  },
});
process.on("exit", () => console.log(JSON.stringify({ modules })));
