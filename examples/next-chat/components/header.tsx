import { useTransition } from "react";
import { endSession, signOut } from "../app/chat/[id]/actions";
import type { ChatState } from "../lib/chat-state";

interface HeaderProps {
  id: string;
  state: ChatState;
  isDisabled: boolean;
  refresh: () => Promise<unknown>;
}

/** The chat's MCP sessions and sign-ins, with a way to end each. */
export function Header({ id, state, isDisabled, refresh }: HeaderProps) {
  const [isPending, startTransition] = useTransition();
  const act = (action: () => Promise<void>) =>
    startTransition(async () => {
      await action();
      await refresh();
    });
  const signIns = state.waiting.filter((entry) => entry.type === "sign-in");
  return (
    <header>
      <h1>Tea chat</h1>
      {/* A whole page: `/` makes the chat, and is not to be fetched ahead. */}
      <a className="button" href="/">
        New chat
      </a>
      <ul className="connections" aria-label="Connections">
        {state.connections.map(({ name, has }) => (
          <li key={`${name} ${has}`}>
            <span className="dot" aria-hidden="true" />
            {has === "session" ? `${name}: session kept` : `${name}: signed in`}
            <button
              type="button"
              disabled={isDisabled || isPending}
              aria-label={has === "session" ? `End the session of ${name}` : `Sign out of ${name}`}
              onClick={() => act(() => (has === "session" ? endSession(id, name) : signOut(name)))}
            >
              {has === "session" ? "End" : "Sign out"}
            </button>
          </li>
        ))}
        {signIns.map(({ connection, startUrl }) => (
          <li key={connection}>
            <a href={startUrl}>Sign in to {connection}</a>
          </li>
        ))}
      </ul>
    </header>
  );
}
