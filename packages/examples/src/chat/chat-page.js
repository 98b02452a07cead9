// A page without a framework: reads AI SDK's stream of UI messages and shows the chat's sessions.
const byId = (id) => document.getElementById(id);

// The chat's id is no secret: its sessions belong to whoever is signed in.
location.hash ||= crypto.randomUUID();
const chat = `/api/chats/${encodeURIComponent(location.hash.slice(1))}`;
/** The conversation as AI SDK's UI messages; the server keeps none of it. */
const messages = [];

const postJson = (url, body) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Runs an action when an element is used, and shows what went wrong. */
function on(type, element, action) {
  element.addEventListener(type, (event) => {
    event.preventDefault();
    action().catch((error) => showMessage("assistant").append(String(error)));
  });
}

on("submit", byId("sign-in"), async () => {
  const name = byId("name").value;
  const { ok } = await postJson("/api/sign-in", { name });
  if (!ok) return;
  byId("who").textContent = `Signed in as ${name}`;
  byId("sign-in").hidden = true;
  for (const id of ["who", "chat", "panel"]) byId(id).hidden = false;
  byId("text").focus();
  await showSessions();
});

on("submit", byId("ask"), async () => {
  const { value: text } = byId("text");
  byId("text").value = "";
  messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  showMessage("user").append(text);
  await receiveAnswer();
  await showSessions();
});

on("click", byId("refresh"), showSessions);

async function receiveAnswer() {
  const response = await postJson(chat, { messages });
  const item = showMessage("assistant");
  if (!response.ok) {
    item.append(`The chat failed (${response.status}).`);
    return;
  }
  const message = { id: crypto.randomUUID(), role: "assistant", parts: [] };
  messages.push(message);
  const text = item.appendChild(document.createElement("span"));
  const calls = item.appendChild(document.createElement("small"));
  const bar = item.appendChild(document.createElement("progress"));
  bar.hidden = true;
  for await (const chunk of chunksOf(response)) {
    addChunk(message.parts, chunk);
    text.textContent = message.parts.map((part) => part.text ?? "").join("");
    const names = message.parts.flatMap((part) => part.toolName ?? []);
    calls.textContent = names.map((name) => `called ${name}`).join(", ");
    showProgress(bar, message.parts.findLast((part) => part.preliminary)?.output);
  }
  const served = item.appendChild(document.createElement("small"));
  served.className = "served-by";
  served.textContent = `answered by process ${response.headers.get("x-served-by")}`;
}

/** Shows how far a call is, from its preliminary result. The message is the server's: only a text. */
function showProgress(bar, output) {
  const { _meta: meta } = output ?? {};
  const report = meta?.["durable-mcp/progress"];
  bar.hidden = report === undefined;
  if (report === undefined) return;
  if (report.total === undefined) bar.removeAttribute("value");
  else Object.assign(bar, { max: report.total, value: report.progress });
  bar.title = report.message ?? "";
}

/** What the page needs of AI SDK's UI message stream: texts, and calls of the connections' tools. */
function addChunk(parts, chunk) {
  const last = parts.at(-1);
  const call = parts.find((part) => part.toolCallId === chunk.toolCallId);
  switch (chunk.type) {
    case "start-step":
      parts.push({ type: "step-start" });
      break;
    case "text-start":
      parts.push({ type: "text", text: "" });
      break;
    case "text-delta":
      last.text += chunk.delta;
      break;
    case "tool-input-available": {
      const { toolCallId, toolName, input } = chunk;
      const state = "input-available";
      parts.push({ type: "dynamic-tool", toolCallId, toolName, input, state });
      break;
    }
    case "tool-output-available":
      // A preliminary result makes place for the next one, and for the result.
      Object.assign(call, {
        state: "output-available",
        output: chunk.output,
        preliminary: chunk.preliminary,
      });
      break;
    case "tool-output-error":
      Object.assign(call, { state: "output-error", errorText: chunk.errorText });
      break;
    case "error":
      parts.push({ type: "text", text: chunk.errorText });
      break;
    default:
  }
}

/** The chunks of a response, from its server-sent events. */
async function* chunksOf(response) {
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data.startsWith("{")) yield JSON.parse(data);
    }
  }
}

function showMessage(role) {
  const item = byId("messages").appendChild(document.createElement("li"));
  item.className = role;
  return item;
}

async function showSessions() {
  const sessions = await (await fetch(`${chat}/sessions`)).json();
  byId("none").hidden = sessions.length > 0;
  byId("sessions").replaceChildren(...sessions.map(sessionEntry));
}

function sessionEntry({ connection, kind, alive, server, tools, lastUsedAt }) {
  const entry = document.createElement("div");
  entry.className = "session";
  const list = entry.appendChild(document.createElement("dl"));
  const rows = {
    Connection: connection,
    Server: server ? `${server.name} ${server.version}` : "",
    State: kind === "session" ? (alive ? "alive" : "gone") : kind,
    Tools: tools ? String(tools.count) : "",
    "Last used": new Date(lastUsedAt).toLocaleTimeString(),
  };
  for (const [term, text] of Object.entries(rows)) {
    list.appendChild(document.createElement("dt")).textContent = term;
    const value = list.appendChild(document.createElement("dd"));
    value.textContent = text;
    value.dataset.name = term;
  }
  for (const action of ["restart", "end"]) {
    const button = entry.appendChild(document.createElement("button"));
    button.textContent = action === "end" ? "End" : "Restart";
    on("click", button, async () => {
      button.disabled = true;
      await postJson(`${chat}/sessions/${encodeURIComponent(connection)}/${action}`, {});
      await showSessions();
    });
  }
  return entry;
}
