import { Question, useDurableChat } from "../src/index.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

/** The page of the README, which the drive of `packages/examples` opens in a Chromium. */
function Chat({ id }: { id: string }) {
  const chat = useDurableChat({ id, api: `/api/chat/${id}`, intervalMs: 1_000 });
  return (
    <main data-phase={chat.phase}>
      <ol>
        {chat.messages.map(({ id: key, role, parts }) => (
          <li key={key} className={role}>
            {parts.map((part) => (part.type === "text" ? part.text : "")).join("")}
          </li>
        ))}
      </ol>
      {chat.blocking.map(
        (entry) =>
          entry.type === "question" && (
            <Question key={entry.id} call={entry} onAnswer={chat.answer} />
          ),
      )}
      {chat.phase === "failed" && (
        <p role="alert">
          {chat.error?.message} <button onClick={chat.goOn}>Go on</button>
        </p>
      )}
      <form action={(data) => void chat.sendMessage({ text: data.get("text") as string })}>
        <input name="text" aria-label="Message" disabled={chat.isBusy} />
      </form>
    </main>
  );
}

createRoot(document.body.appendChild(document.createElement("div"))).render(
  <StrictMode>
    <Chat id={location.pathname.slice(1)} />
  </StrictMode>,
);
