import { waitingKeys } from "@durable-mcp/core/internal";
import { parseWaitingRecord, type WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { findSelected } from "../management/selected-records.ts";
import {
  describeRecord,
  type ListedRecord,
  parseRecord,
  parseRecordOwner,
} from "../records/slot-record.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { pendingSignIns } from "../waiting/sign-in.ts";
import { isOpen } from "../waiting/stored-calls.ts";
import type { ListedCall } from "../waiting/waiting-records.ts";
import { outcomeOf, takesAnswer, toolOf, waitsFor } from "./call-words.ts";
import { markup, type Html, type Part } from "./markup.ts";
import { type ChatName, kinds, type Look, nameOf, queryOf, unreadCalls, userOf } from "./lists.ts";
import { address, link, moment, type Page, table } from "./page.ts";
import { isAnswerable, questionInputs, type Refused, shownQuestions } from "./question-form.ts";

/** What has happened, by what the address says. Nobody can put words of their own there. */
const notices: Readonly<Record<string, string>> = {
  settled: "The answer has reached the server. The chat's next step gets the result.",
  waiting: "The answer has reached the server, which asks more.",
  expired:
    "The questions were too old, and nothing was carried out. The chat's next step tells the model so.",
  "outcome-unknown":
    "Nobody knows whether the server has carried out the call. It is not sent again; look there.",
  withdrawn: "The call was taken back. The chat's next step tells the model so.",
  ended: "The session was ended.",
  "not-ended":
    "The server could not be told to end the session. The record is kept, to be tried again.",
};

/** The chat that a query names. */
export function chatIn({ query, names }: Pick<Look, "query" | "names">): ChatName | undefined {
  const given = (name: string) => {
    const text = query.get(name);
    return text && (names?.find(text) ?? text);
  };
  const [chat, shared] = [given("chat"), given("shared")];
  return chat || (shared ? { shared } : undefined);
}

/** An act on a call that did not succeed, as the page says it. */
export interface FailedAct {
  readonly reference: string;
  readonly refused: Refused;
  readonly status: number;
}

/** A chat: one operation of the store, and one for each connection whose user may have to sign in. */
export async function chatPage(look: Look, of: ChatName, failed?: FailedAct): Promise<Page> {
  const { context, query, now } = look;
  const { records, waiting: all } = await findSelected(context, of, {}, undefined);
  const waiting = all.filter((each) => !waitingKeys.isNews(each.of.id));
  const calls = waiting.flatMap((listed) => {
    const call = parseWaitingRecord(listed.value);
    return call ? [{ ...listed, call }] : [];
  });
  const unread = waiting.length - calls.length;
  const open = calls.filter(isOpen).toSorted((one, other) => one.call.askedAt - other.call.askedAt);
  const over = calls.filter((each) => !isOpen(each));
  const owners = new Set([...records, ...waiting].map(({ owner }) => owner));
  const forms = open.map((each, at) => openCall(look, each, `call-${at + 1}`, failed));
  const isShown = failed && open.some(({ call }) => call.due === failed.reference);
  const notice = notices[query.get("done") ?? ""];
  const body = markup`${notice !== undefined && markup`<p class="notice" role="status">${notice}</p>`} ${failed && !isShown && markup`<p class="notice problem" role="alert">${failed.refused.message}</p>`}<p>${owners.size > 0 ? markup`Of ${[...owners].map((owner) => userOf(look, owner)).join(" and ")}.` : "The store has nothing of it: it is over, or has another id."}</p>${
    forms.length > 0 && markup`<h2>What waits</h2>${forms.map(({ text }) => text)}`
  } ${await signInsOf(context, of, owners, now)} ${unreadCalls(unread)} ${
    records.length > 0 && markup`<h2>Sessions</h2>${await sessionTable(look, of, records)}`
  } ${over.length > 0 && markup`<h2>Calls that have waited</h2>${overTable(over, now)}`}`;
  const hasForm = forms.some((each) => each.hasForm);
  return { title: `Chat ${nameOf(look, of)}`, body, hasForm, status: failed?.status ?? 200 };
}

type Called = ListedCall & { readonly call: WaitingRecord };

function openCall(
  look: Look,
  { of, call, owner }: Called,
  id: string,
  failed: FailedAct | undefined,
): { readonly text: Html; readonly hasForm: boolean } {
  const { operator, now, token } = look;
  const { connection, url, due: reference, round, askedAt, expiresAt } = call;
  const refused = failed?.reference === reference ? failed?.refused : undefined;
  const mayAnswer = operator.may.includes("answer") && takesAnswer(call, now) && isAnswerable(call);
  const mayWithdraw = operator.may.includes("end") && call.state === "waiting";
  const hasForm = reference !== undefined && (mayAnswer || mayWithdraw);
  const buttons = markup`<p class="actions">${
    mayAnswer &&
    markup`<button name="action" value="accept">Accept</button><button name="action" value="decline" formnovalidate>Decline</button>`
  }${mayWithdraw && markup`<button name="action" value="withdraw" formnovalidate>Take the call back</button>`}</p>`;
  const form = markup`<form method="post" action="${address(queryOf(look, of.sessionId))}" aria-labelledby="${id}"><input type="hidden" name="token" value="${token}" /><input type="hidden" name="reference" value="${reference}" /><input type="hidden" name="round" value="${round}" /> ${
    mayAnswer
      ? questionInputs(call, id, refused)
      : markup`${shownQuestions(call)}${refused && markup`<p class="problem" role="alert">${refused.message}</p>`}`
  }${mayAnswer && markup`<p class="soft">You answer in the name of the user.</p>`}${buttons}</form>`;
  const text = markup`<article><h3 id="${id}">${connection}: ${toolOf(call)}</h3><p class="soft">${new URL(url).origin}${round > 0 && markup`, round ${round}`}, asked ${moment(askedAt, now)}, given up ${moment(expiresAt, now)}, of ${userOf(look, owner)}</p><p>It waits for ${waitsFor(call, now)}.</p>${hasForm ? form : shownQuestions(call)}</article>`;
  return { text, hasForm: mayAnswer };
}

async function signInsOf(
  { provider }: SessionsContext,
  of: ChatName,
  owners: Iterable<string>,
  now: number,
): Promise<Part> {
  if (typeof of !== "string") return undefined;
  const users = [...owners].map(parseRecordOwner).filter((each) => each !== undefined);
  const each = users.map(
    async (user) => await pendingSignIns(provider.declaredFor(user), user, of),
  );
  return (await Promise.all(each))
    .flat()
    .map(
      ({ connection, server, askedAt }) =>
        markup`<p>The user has to sign in to ${connection} (${server}), since ${moment(askedAt, now)}. Only they can.</p>`,
    );
}

/** What a server says when it is asked whether it knows a session. */
const answers: Readonly<Record<string, string>> = {
  lost: "has forgotten the session",
  timeout: "did not answer in time",
  unreachable: "cannot be reached",
  refused: "refuses the session",
  "authorization-required": "wants the user's sign-in",
};

async function sessionTable(look: Look, of: ChatName, records: readonly ListedRecord[]) {
  const { admin, operator, query, now, names } = look;
  const asked = query.has("ask") ? await admin.status(of) : undefined;
  const rows = records.map((record) => {
    const { connection, name } = record.of;
    const { kind, server, protocolVersion, lastUsedAt, startedAt } = describeRecord(record);
    const snapshot = parseRecord(record.value)?.snapshot;
    const status = asked?.find(
      (each) => each.owner === record.owner && each.connection === connection && each.name === name,
    );
    const { refusedSince } = { refusedSince: undefined, ...snapshot };
    const selection = {
      connection,
      name,
      owner: names?.show("user", record.owner) ?? record.owner,
    };
    return [
      name === undefined ? connection : `${connection} / ${name}`,
      markup`${kinds[kind] ?? kind}${refusedSince !== undefined && markup`; the server refuses it since ${moment(refusedSince, now)}`}`,
      [server?.name, server?.version, protocolVersion].filter(Boolean).join(" "),
      status?.alive ? "answers" : (answers[status?.reason ?? ""] ?? "–"),
      moment(startedAt, now),
      moment(lastUsedAt, now),
      operator.may.includes("end") &&
        link({ ...queryOf(look, of), page: "end", ...selection }, "End …"),
    ];
  });
  const head = ["Connection", "Session", "Server", "Now", "Started", "Last used", "Act"];
  const ask = link(
    { ...queryOf(look, of), ask: "1" },
    "Ask the servers of these sessions whether they answer",
  );
  return markup`${table("Sessions", head, rows, "")}<p>${ask}</p>`;
}

function overTable(calls: readonly Called[], now: number): Html {
  const rows = calls
    .toSorted((one, other) => other.lastUsedAt - one.lastUsedAt)
    .map(({ call, lastUsedAt }) => [
      `${call.connection}: ${toolOf(call)}`,
      outcomeOf(call),
      call.round > 0 ? call.round : "–",
      moment(call.askedAt, now),
      moment(lastUsedAt, now),
    ]);
  return table("Calls", ["Call", "Outcome", "Rounds", "Asked", "Last used"], rows, "");
}
