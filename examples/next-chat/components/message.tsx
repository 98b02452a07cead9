import { isToolUIPart } from "ai";
import Markdown from "react-markdown";
import type { ChatMessage } from "../lib/chat-state";
import { ToolCall } from "./tool-call";

export function Message({ message: { role, parts, metadata } }: { message: ChatMessage }) {
  return (
    <li className={role}>
      <span className="hidden">{role === "user" ? "You said:" : "The answer:"}</span>
      {parts.map((part, index) => {
        if (isToolUIPart(part)) return <ToolCall key={part.toolCallId} part={part} />;
        if (part.type !== "text") return null;
        // An image's URL may carry away what the model has read.
        const text = <Markdown disallowedElements={["img"]}>{part.text}</Markdown>;
        return (
          <div key={index} className="text">
            {role === "user" ? part.text : text}
          </div>
        );
      })}
      {metadata?.process !== undefined && (
        <small className="process">answered by process {metadata.process}</small>
      )}
    </li>
  );
}
