import { McpSessionError } from "@durable-mcp/core";
import {
  createWaitingStore,
  openCalls,
  parseWaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import { findSelected } from "../management/selected-records.ts";
import { parseRecordOwner } from "../records/slot-record.ts";
import { chatPage } from "./chat-page.ts";
import { markup } from "./markup.ts";
import { type ChatName, type Look, nameOf, queryOf } from "./lists.ts";
import { address, link, type Page, says } from "./page.ts";
import { isAnswerable, responsesIn } from "./question-form.ts";

/** Where the browser goes after an act, or the page that says why nothing was done. */
export type Acted = { readonly to: string } | Page;

/** Answers the call of a form, or takes it back. */
export async function actOnCall(look: Look, of: ChatName, form: FormData): Promise<Acted> {
  const { context, admin, operator } = look;
  const given = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value : "";
  };
  const reference = given("reference");
  const isWithdrawal = given("action") === "withdraw";
  if (!operator.may.includes(isWithdrawal ? "end" : "answer"))
    return says("Not allowed", "You may not do this. Nothing was done.", 403);
  const failed = async (message: string, status: number, field?: string) =>
    await chatPage(look, of, { reference, status, refused: { given: form, message, field } });
  const found = await openCalls.dueOf(context.store, context.agent).read(reference);
  const gone =
    "The call does not wait any more: somebody else was faster, or it is over. Nothing was sent.";
  if (found === undefined) return await failed(gone, 409);
  const { sessionId, principal, id } = found;
  const call = { sessionId, principal, call: { id } };
  const by = operator.name;
  try {
    if (isWithdrawal) return done(look, of, (await admin.withdraw(call, { by })).state);
    const calls = createWaitingStore(context.store, { agent: context.agent, sessionId, principal });
    const record = parseWaitingRecord(await calls.value(id));
    if (record === undefined || String(record.round) !== given("round"))
      return await failed(gone, 409);
    if (!isAnswerable(record))
      return says("Not allowed", "Only the user can do what this asks. Nothing was sent.", 403);
    const responses = responsesIn(form, record);
    const { state } = await admin.answer(call, responses, { by, round: record.round });
    return done(look, of, state);
  } catch (error) {
    if (!McpSessionError.isInstance(error)) throw error;
    const { code, message, data } = error;
    if (code === "NOT_WAITING") return await failed(gone, 409);
    return await failed(message, code === "INPUT_INVALID" ? 422 : 502, data.field);
  }
}

const done = (look: Look, of: ChatName, what: string) => ({
  to: address({ ...queryOf(look, of), done: what }),
});

/** Asks before a session ends, and then ends it. @param form `undefined` to ask */
export async function endSession(
  look: Look,
  of: ChatName,
  form: FormData | undefined,
): Promise<Acted> {
  const { context, admin, operator, query, token, names } = look;
  if (!operator.may.includes("end"))
    return says("Not allowed", "You may not end sessions. Nothing was done.", 403);
  const connection = query.get("connection") ?? "";
  const name = query.get("name") ?? undefined;
  const shown = query.get("owner") ?? "";
  const owner = names?.find(shown) ?? shown;
  const principal = parseRecordOwner(owner);
  const selected = { connection, ...(name !== undefined && { name }) };
  if (form !== undefined) {
    const selection = { ...selected, ...(principal && { principal }), by: operator.name };
    const ended = await admin.end(of, selection);
    return done(
      look,
      of,
      ended.every((each) => each.ended || each.removed) ? "ended" : "not-ended",
    );
  }
  const { records, waiting } = await findSelected(context, of, selected, principal && owner);
  const called = name === undefined ? connection : `${connection} / ${name}`;
  const body = markup`<p>${records.length === 1 ? "The session" : `${records.length} sessions`} of ${called} in chat ${nameOf(look, of)} will end${
    principal
      ? " on the server"
      : " in the store alone, which keeps no names of users: the server is not told"
  }. What the server keeps for it, such as a browser or a cart, is lost.</p>${name === undefined && waiting.length > 0 && markup`<p><strong>${waiting.length === 1 ? "A call of it that waits or has waited is" : `${waiting.length} calls of it that wait or have waited are`} deleted, too.</strong></p>`}<form method="post" action="?${String(query)}"><input type="hidden" name="token" value="${token}" /><p class="actions"><button name="action" value="end">End it</button>${link(queryOf(look, of), "Back")}</p></form>`;
  return { title: `End ${called}?`, body, hasForm: true };
}
