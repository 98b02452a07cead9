// A page without a framework: reads AI SDK's stream of UI messages, asks what servers want to know, and shows the
// chat's sessions.
import { element } from "./element.js";
import { plainCard, questionCard } from "./questions.js";
import { showProgress } from "./progress.js";
import { sessionEntry } from "./sessions-panel.js";
import { addChunk, chunksOf, messageToGoOn, waitingCallOf } from "./ui-messages.js";

const byId = (id) => document.getElementById(id);

// The chat's id is no secret: its sessions belong to whoever is signed in.
location.hash ||= crypto.randomUUID();
const chat = `/api/chats/${encodeURIComponent(location.hash.slice(1))}`;
/** The conversation as AI SDK's UI messages. The browser keeps it, for the server keeps none of it. */
let messages = [];
let keptAs = "";
const drawn = new Map();
let isSending = false;

const sendJson = (url, body, method = "POST") =>
  fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Runs an action when an element is used, and shows what went wrong. */
function on(type, target, action) {
  target.addEventListener(type, (event) => {
    event.preventDefault();
    action().catch((error) => notice(String(error)));
  });
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = text === "";
}

on("submit", byId("sign-in"), async () => {
  const name = byId("name").value;
  const { ok } = await sendJson("/api/sign-in", { name });
  if (!ok) return;
  byId("who").textContent = `Signed in as ${name}`;
  byId("sign-in").hidden = true;
  for (const id of ["who", "chat", "panel"]) byId(id).hidden = false;
  byId("text").focus();
  keptAs = JSON.stringify([chat, name]);
  messages = JSON.parse(localStorage.getItem(keptAs) ?? "[]");
  for (const message of messages) draw(message);
  await Promise.all([showSessions(), showQuestions()]);
  await goOn();
});

on("submit", byId("ask"), async () => {
  const { value: text } = byId("text");
  byId("text").value = "";
  notice("");
  messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  draw(messages.at(-1));
  await send();
});

on("click", byId("refresh"), async () => {
  await Promise.all([showSessions(), showQuestions()]);
  await goOn();
});

/** Sends the conversation, and takes in what the agent does. */
async function send() {
  isSending = true;
  try {
    await receive();
  } finally {
    isSending = false;
  }
  await Promise.all([showSessions(), showQuestions()]);
}

async function receive() {
  const response = await sendJson(chat, { messages });
  if (!response.ok) {
    notice(`The chat failed (${response.status}).`);
    return;
  }
  const message = messageToGoOn(messages);
  for await (const chunk of chunksOf(response)) {
    addChunk(messages, chunk);
    draw(message);
  }
  message.metadata = { servedBy: response.headers.get("x-served-by") };
  draw(message);
  localStorage.setItem(keptAs, JSON.stringify(messages));
}

/** Lets the agent go on when nothing is asked any more, and its last message still has a placeholder. */
async function goOn() {
  const isAsked = byId("questions").childElementCount > 0;
  if (isAsked || isSending) return;
  const { role, parts = [] } = messages.at(-1) ?? {};
  if (role === "assistant" && parts.some(waitingCallOf)) await send();
}

function draw(message) {
  const { role, parts, metadata } = message;
  const item = drawn.get(message) ?? byId("messages").appendChild(element("li"));
  drawn.set(message, item);
  item.className = role;
  const calls = parts.filter(({ type }) => type === "dynamic-tool");
  const bar = element("progress", { hidden: true });
  showProgress(bar, calls.findLast(({ preliminary }) => preliminary)?.output);
  const served = metadata?.servedBy && `answered by process ${metadata.servedBy}`;
  item.replaceChildren(
    ...calls.map((call) => element("small", { className: "call" }, [describe(call)])),
    element("span", {}, [parts.map(({ text = "" }) => text).join("")]),
    bar,
    ...(served ? [element("small", { className: "served-by" }, [served])] : []),
  );
}

/** A call and its result, as soon as it has one. */
function describe({ toolName, output, errorText, ...part }) {
  const called = `called ${toolName}`;
  if (waitingCallOf({ output })) return `${called}: waits for you`;
  if (errorText !== undefined) return `${called}: failed: ${errorText}`;
  if (part.preliminary || part.state !== "output-available") return called;
  const texts = (output?.content ?? []).flatMap(({ text = [] }) => text);
  return `${called}: ${texts.join(" ")}`;
}

/** Shows the calls of this chat that wait for a person. They are asked for by the principal of the cookie. */
async function showQuestions() {
  const calls = await (await fetch(`${chat}/waiting`)).json();
  const shown = [...byId("questions").children];
  // A call keeps its place from round to round.
  const place = ({ id }) => shown.findIndex((card) => card.dataset.call === id) >>> 0;
  const cards = calls
    .toSorted((a, b) => place(a) - place(b))
    .map((call) => {
      const version = JSON.stringify([call.id, call.round, call.state]);
      // A card that is still right keeps what the person has filled in.
      const card = shown.find(({ dataset }) => dataset.version === version) ?? cardFor(call);
      Object.assign(card.dataset, { version, call: call.id });
      return card;
    });
  byId("questions").replaceChildren(...cards);
  byId("text").disabled = calls.length > 0;
  byId("text").placeholder = calls.length > 0 ? "answer first" : "add apples, or order tea";
  if (calls.some(({ state }) => state === "answering"))
    setTimeout(() => byId("refresh").click(), 2_000);
}

function cardFor(call) {
  const url = `${chat}/waiting/${encodeURIComponent(call.id)}`;
  const use = {
    answer: (responses) => act(sendJson(`${url}/answer`, { round: call.round, responses })),
    withdraw: () => act(sendJson(url, {}, "DELETE")),
  };
  if (call.state === "answering") return plainCard(`${call.tool}: is being answered …`, {});
  try {
    return questionCard(call, use);
  } catch {
    // A server may send any schema. The other questions are shown all the same.
    return plainCard(`${call.connection} asks something that cannot be shown.`, use);
  }
}

/** Tells what became of an answer. Gives the problem of one that does not fit its question. */
async function act(sent) {
  notice("");
  try {
    const response = await sent;
    const { code, message, field, state } = await response.json().catch(() => ({}));
    if (code === "INPUT_INVALID") return { message, field };
    if (code === "NOT_WAITING") {
      notice("This was answered somewhere else, or is over. Nothing was sent.");
    } else if (!response.ok) {
      notice(message ?? `The answer could not be sent (${response.status}).`);
    } else if (state === "outcome-unknown") {
      notice("Nobody knows whether the server got the answer.");
    } else if (state === "expired") {
      notice("The question was too old.");
    }
    await showQuestions();
    await goOn();
  } catch (error) {
    notice(String(error));
  }
  return undefined;
}

async function showSessions() {
  const sessions = await (await fetch(`${chat}/sessions`)).json();
  byId("none").hidden = sessions.length > 0;
  const entries = sessions.map((session) => sessionEntry(session, changeSession));
  byId("sessions").replaceChildren(...entries);
}

async function changeSession(connection, action) {
  await sendJson(`${chat}/sessions/${encodeURIComponent(connection)}/${action}`, {});
  await showSessions();
}
