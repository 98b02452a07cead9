import { type KeyboardEvent, useEffect, useRef, useState } from "react";

interface ComposerProps {
  onSend: (text: string) => void;
  onStop: () => void;
  isBusy: boolean;
}

export function Composer({ onSend, onStop, isBusy }: ComposerProps) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isBusy) field.current?.focus();
  }, [isBusy]);
  const send = () => {
    if (text.trim() === "" || isBusy) return;
    onSend(text.trim());
    setText("");
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="composer"
      aria-label="Your turn"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label className="hidden" htmlFor="message">
        Message
      </label>
      <textarea
        ref={field}
        id="message"
        rows={1}
        value={text}
        placeholder="Say something …"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={sendOnEnter}
      />
      {isBusy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button className="primary" disabled={text.trim() === ""}>
          Send
        </button>
      )}
    </form>
  );
}
