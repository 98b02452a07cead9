/** For `--import`: the official SDK's example server takes 20,000 sessions, not 1,000. */
import { registerHooks } from "node:module";

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith("/examples/server/simpleStreamableHttp.js")) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString();
    const source = text.replace("MAX_SESSIONS = 1000", "MAX_SESSIONS = 20_000");
    if (!source.includes("20_000")) throw new Error("The example server has no such limit now.");
    return { ...loaded, source };
  },
});
