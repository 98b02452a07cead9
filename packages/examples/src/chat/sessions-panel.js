// The chat's MCP sessions, beside the conversation.
import { element } from "./element.js";

/**
 * @param act restarts or ends a session
 * @returns an entry with its buttons
 */
export function sessionEntry({ connection, kind, alive, server, tools, lastUsedAt }, act) {
  const rows = {
    Connection: connection,
    Server: server ? `${server.name} ${server.version}` : "",
    State: kind === "session" ? (alive ? "alive" : "gone") : kind,
    Tools: tools ? String(tools.count) : "",
    "Last used": new Date(lastUsedAt).toLocaleTimeString(),
  };
  const list = Object.entries(rows).flatMap(([term, text]) => {
    const value = element("dd", {}, [text]);
    value.dataset.name = term;
    return [element("dt", {}, [term]), value];
  });
  const buttons = ["restart", "end"].map((action) => {
    const button = element("button", {}, [action === "end" ? "End" : "Restart"]);
    button.addEventListener("click", () => {
      button.disabled = true;
      void act(connection, action);
    });
    return button;
  });
  return element("div", { className: "session" }, [element("dl", {}, list), ...buttons]);
}
