import { waitingCallOf } from "@durable-mcp/core/waiting";
import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";

type Part = DynamicToolUIPart | ToolUIPart;

/** A call of a tool. Its details open on demand. */
export function ToolCall({ part }: { part: Part }) {
  const [connection = "", tool = ""] = getToolName(part).split("__");
  const status = statusOf(part);
  return (
    <details className="tool" data-status={status}>
      <summary>
        <span className="dot" aria-hidden="true" />
        {[connection, tool.replaceAll("_", " ")].filter(Boolean).join(": ")} <small>{status}</small>
      </summary>
      <dl>
        <dt>Asked with</dt>
        <dd>
          <pre>{JSON.stringify(part.input, undefined, 2)}</pre>
        </dd>
        {status === "done" && (
          <>
            <dt>Result</dt>
            <dd>
              <pre>{textOf(part.output)}</pre>
            </dd>
          </>
        )}
        {part.state === "output-error" && (
          <>
            <dt>Error</dt>
            <dd>
              <pre>{part.errorText}</pre>
            </dd>
          </>
        )}
      </dl>
    </details>
  );
}

function statusOf(part: Part): string {
  if (part.state === "output-error") return "failed";
  if (part.state !== "output-available") return "running";
  const waiting = waitingCallOf(part.output);
  if (waiting === undefined) return "done";
  const isForUser = waiting.type === "question" || waiting.type === "call-waits-for-sign-in";
  return isForUser ? "waits for you" : "waits";
}

/** The texts of an MCP result, or all of it. */
function textOf(output: unknown): string {
  const content: unknown =
    typeof output === "object" && output !== null && "content" in output ? output.content : [];
  const parts = Array.isArray(content) ? (content as { text?: unknown }[]) : [];
  const texts = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  return texts.length > 0 ? texts.join("\n") : JSON.stringify(output, undefined, 2);
}
