import { askingRequest, asks } from "./asking-server.ts";
import { event } from "./call-stream.ts";

export interface Ledger {
  readonly request: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
  /** How often the tool did its work. */
  readonly carriedOut: () => number;
  /** How many requests it has got. */
  readonly sent: () => number;
  /** Ends the work of a call that was left. */
  readonly finish: () => void;
}

const done = { resultType: "complete", content: [{ type: "text", text: "Done." }] };

function streamed(text: string, isOpen = false): Response {
  const body = new ReadableStream({
    start(own) {
      own.enqueue(new TextEncoder().encode(text));
      if (!isOpen) own.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A server that does the work of one tool once, and counts it. */
export function startLedger(kind: string, end: "settled in its step" | "left"): Ledger {
  let effects = 0;
  let isOver = end !== "left";
  const isModern = kind === "question" || kind === "task of 2026-07-28";
  const params = { name: "work", arguments: {} };
  const request = isModern
    ? askingRequest({ params })
    : { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const task = { taskId: "task-1", createdAt: "2026-11-28T00:00:00Z", ttlMs: null, ttl: null };
  const now = () => ({ ...task, status: isOver ? "completed" : "working" });
  const interval = { pollIntervalMs: 100, pollInterval: 100 };
  let sent = 0;

  const answer = ({ method, params: given }: { method: string; params: any }) => {
    switch (method) {
      case "tools/call": {
        if (kind === "question") {
          // Without a question it only wants another request, in the same step.
          if (given.requestState === undefined) return asks("state", isOver ? null : undefined);
          effects += 1;
          return done;
        }
        effects += 1;
        const made = { ...task, status: "working", ...interval };
        return isModern ? { resultType: "task", ...made } : { task: made };
      }
      case "tasks/get":
        return { resultType: "complete", ...now(), ...interval, result: done };
      case "tasks/result":
        return done;
      default:
        return {};
    }
  };
  return {
    request,
    headers: isModern
      ? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" }
      : { "mcp-session-id": "secret-session" },
    async fetch(input, init) {
      sent += 1;
      const own = new Request(input, init);
      const text = await own.text();
      const last = event("2", { id: 1, result: done });
      if (text === "") return streamed(isOver ? last : "");
      const message = JSON.parse(text);
      if (kind !== "stream") {
        return Response.json({ jsonrpc: "2.0", id: message.id, result: answer(message) });
      }
      effects += 1;
      return isOver ? streamed(event("1") + last) : streamed(event("1"), true);
    },
    carriedOut: () => effects,
    sent: () => sent,
    finish: () => void (isOver = true),
  };
}
