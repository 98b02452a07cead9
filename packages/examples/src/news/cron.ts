/**
 * What a cron job does: looks at what is due, of all users. There is no agent in this process.
 *
 *     node cron.ts <URL of the MCP server> <store> <its key>
 */
import { openOffice, printReport } from "./news-sessions.ts";

const [url = "", place = "", key = ""] = process.argv.slice(2);
const { sessions, close } = await openOffice(url, place, key);
let news = 0;
for await (const { reference } of sessions.admin.due()) {
  const checked = await sessions.admin.check(reference);
  // A real one begins a step of `checked.sessionId` and `checked.principal`, perhaps through a queue.
  news += checked?.call.news ?? 0;
}
await close();
printReport({ what: news > 0 ? "A look: there is news." : "A look: nothing is new.", news });
