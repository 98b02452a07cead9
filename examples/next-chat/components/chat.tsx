"use client";

import { Question, SignIn, useDurableChat } from "@durable-mcp/react";
import { useEffect } from "react";
import type { ChatState } from "../lib/chat-state";
import { Composer } from "./composer";
import { Header } from "./header";
import { Message } from "./message";

interface ChatProps {
  id: string;
  /** The chat as the server has it when the page is made. */
  initialState: ChatState;
  modelName: string | undefined;
}

export function Chat({ id, initialState, modelName }: ChatProps) {
  const api = `/api/chat/${encodeURIComponent(id)}`;
  const chat = useDurableChat({ id, api, initialState });
  const { messages, phase, isBusy, blocking, working, error, goOn, refresh } = chat;
  const { state = initialState } = chat;
  const say = (text: string) => void chat.sendMessage({ text });
  // Follows the conversation, as it grows.
  useEffect(() => {
    scrollTo({ top: document.body.scrollHeight });
  }, [messages, state]);

  return (
    <div className="chat">
      <Header id={id} state={state} isDisabled={isBusy} refresh={refresh} />
      <main>
        {modelName === undefined && <ScriptNotice />}
        {messages.length === 0 && <Suggestions onChoose={say} />}
        <ol className="messages" aria-live="polite" aria-busy={isBusy}>
          {messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
        </ol>
        <div className="waiting" aria-live="polite">
          {phase === "reconnecting" && <p className="working">Connecting again …</p>}
          {isBusy && phase !== "reconnecting" && <p className="working">Working …</p>}
          {working.map(({ id: call, tool, statusMessage = "it is not done yet" }) => (
            <p className="working" key={call}>
              {tool}: {statusMessage} …
            </p>
          ))}
          {blocking.map((entry) =>
            entry.type === "sign-in" ? (
              <SignIn className="card" key={entry.connection} entry={entry} />
            ) : (
              <Question
                {...{ className: "card", call: entry }}
                {...{ onAnswer: chat.answer, onWithdraw: chat.withdraw }}
                key={entry.id}
              />
            ),
          )}
        </div>
        {phase === "failed" && (
          <p className="problem" role="alert">
            {error?.message}{" "}
            <button type="button" onClick={goOn}>
              Go on
            </button>
          </p>
        )}
      </main>
      <Composer onSend={say} onStop={() => void chat.stopAnswer()} isBusy={isBusy} />
    </div>
  );
}

function ScriptNotice() {
  return (
    <p className="notice">
      <strong>No language model is set.</strong> Answers come from a script, which understands a few
      words. <code>MODEL</code> in <code>.env.local</code> names a real one.
    </p>
  );
}

const suggestions = ["Add apples and tea", "What is in my cart?", "Order tea", "My points"];

function Suggestions({ onChoose }: { onChoose: (text: string) => void }) {
  return (
    <section className="suggestions" aria-labelledby="suggestions">
      <h2 id="suggestions">What shall the tea shop do?</h2>
      <div>
        {suggestions.map((text) => (
          <button key={text} type="button" onClick={() => onChoose(text)}>
            {text}
          </button>
        ))}
      </div>
    </section>
  );
}
