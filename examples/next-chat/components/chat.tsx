"use client";

import type { WaitingEntry } from "@durable-mcp/core/waiting";
import { useEffect } from "react";
import { stopAnswer } from "../app/chat/[id]/actions";
import type { ChatState } from "../lib/chat-state";
import { Composer } from "./composer";
import { Header } from "./header";
import { Message } from "./message";
import { Question } from "./question";
import { SignIn } from "./sign-in";
import { useDurableChat } from "./use-durable-chat";

interface ChatProps {
  id: string;
  /** The chat as the server has it. `router.refresh()` brings the next one. */
  state: ChatState;
  modelName: string | undefined;
}

export function Chat({ id, state, modelName }: ChatProps) {
  const { messages, isBusy, blocking, working, problem, say, goOn } = useDurableChat(id, state);
  // Follows the conversation, as it grows.
  useEffect(() => {
    scrollTo({ top: document.body.scrollHeight });
  }, [messages, state]);

  return (
    <div className="chat">
      <Header id={id} state={state} isDisabled={isBusy} />
      <main>
        {modelName === undefined && <ScriptNotice />}
        {messages.length === 0 && <Suggestions onChoose={say} />}
        <ol className="messages" aria-live="polite" aria-busy={isBusy}>
          {messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
        </ol>
        <div className="waiting" aria-live="polite">
          {isBusy && <p className="working">Working …</p>}
          {working.map(({ id: call, tool, statusMessage = "it is not done yet" }) => (
            <p className="working" key={call}>
              {tool}: {statusMessage} …
            </p>
          ))}
          {blocking.map((entry) => (
            <Waiting key={JSON.stringify(keyOf(entry))} chat={id} entry={entry} />
          ))}
        </div>
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}{" "}
            <button type="button" onClick={goOn}>
              Go on
            </button>
          </p>
        )}
      </main>
      <Composer onSend={say} onStop={() => void stopAnswer(id)} isBusy={isBusy} />
    </div>
  );
}

/** A card lives as long as its round or sign-in: what was filled in stays until then. */
const keyOf = (entry: WaitingEntry) =>
  entry.type === "sign-in" ? [entry.connection] : [entry.id, entry.round];

function Waiting({ chat, entry }: { chat: string; entry: WaitingEntry }) {
  return entry.type === "sign-in" ? (
    <SignIn entry={entry} />
  ) : (
    <Question chat={chat} call={entry} />
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
