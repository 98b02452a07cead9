/**
 * What a cron job does: looks at the calls of all users that are due. There is no agent in this process, no model and no
 * conversation.
 *
 *     node cron.ts <URL of the MCP server> <"task" or "stream"> <store> <its key>
 */
import { type LabKind, openLab } from "./lab-sessions.ts";
import { printReport } from "./research-turn.ts";

const [url = "", kind, place = "", key = ""] = process.argv.slice(2);
const { sessions, close } = await openLab(url, kind as LabKind, place, key);
let call = "";
for await (const { reference } of sessions.admin.due({ limit: 100 })) {
  const checked = await sessions.admin.check(reference);
  if (checked) call = checked.call.state === "settled" ? "settled" : "goes on";
}
await close();
printReport({ what: call === "" ? "Nothing is due." : "A look at the call.", call, text: "" });
