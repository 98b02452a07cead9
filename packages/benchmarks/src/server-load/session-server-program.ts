/**
 * The measured tools on `@durable-mcp/server`:
 *
 *     node session-server-program.ts memory|sqlite-normal|sqlite-full|redis|postgres sse|json <path or port> [counted]
 */
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { countOperations } from "./count-operations.ts";
import { createMeasuredTools } from "./measured-tools.ts";
import { openMeasuredStore } from "./open-measured-store.ts";
import { serveAndReport } from "./serve-and-report.ts";

const [, , kind, format, place, counted] = process.argv;
const store = await openMeasuredStore(kind!, place!);
const operations: Record<string, number> = {};

const handler = createSessionHandler({
  principal: "none",
  store: counted === "counted" ? countOperations(store, operations) : store,
  responseFormat: format === "json" ? "json" : "sse",
  limits: { liveSessions: 20_000 },
  initialState: () => ({ calls: 0 }),
  createServer: ({ session }) => createMeasuredTools(() => (session.state.calls += 1)),
});
serveAndReport(toNodeHandler(handler), operations);
