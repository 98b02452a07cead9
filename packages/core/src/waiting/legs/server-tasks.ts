import { isRecord } from "../../base/json-values.ts";
import { type SessionSlot, slotState } from "../../session/session-slot.ts";
import { lastList } from "../../tools/tool-list.ts";
import { type JsonRpcRequest, parseMessage, revisionIn } from "../../wire/json-rpc.ts";
import { editAnswer } from "../../wire/read-answer.ts";
import { tasksExtension } from "./task-result.ts";

/** The requests whose results say whether a server makes tasks of calls. */
const telling: ReadonlySet<string> = new Set(["initialize", "server/discover", "tools/list"]);

/**
 * What is known of a server's tasks: from what it says to a client, or has said before.
 *
 * @param slot has what was kept of the server
 */
export function createServerTasks(slot: SessionSlot | undefined) {
  let said: unknown;
  const support = new Map<string, unknown>();

  const capabilities = (): unknown => {
    const snapshot = slot && slotState(slot).snapshot;
    if (said !== undefined || snapshot === undefined) return said;
    const { initializeResult, kept } = snapshot as {
      readonly initializeResult?: { readonly capabilities: unknown };
      readonly kept?: readonly { readonly method: string; readonly result: object }[];
    };
    const discovery = kept?.find(({ method }) => method === "server/discover")?.result;
    return initializeResult?.capabilities ?? inside(discovery, "capabilities");
  };
  const supportOf = (name: string): unknown => {
    if (support.has(name)) return support.get(name);
    const tools = slot && lastList(slotState(slot))?.tools;
    return taskSupport(tools?.find((tool) => tool.name === name));
  };

  return {
    /** Whether a call may become a task. */
    takes(message: JsonRpcRequest): boolean {
      if (message.method !== "tools/call") return false;
      const own = capabilities();
      if (revisionIn(message) !== undefined)
        return isRecord(inside(own, "extensions", tasksExtension));
      const mayMake = isRecord(inside(own, "tasks", "requests", "tools", "call"));
      const needed = supportOf(String(message.params?.["name"]));
      return mayMake && (needed === "required" || needed === "optional");
    },
    /**
     * Notes what an answer says. A client of its own that refuses a tool which only runs as a task is told that it
     * may call it.
     */
    observe({ id, method, params }: JsonRpcRequest, response: Response): Response {
      if (!telling.has(method)) return response;
      return editAnswer(response, (text) => {
        const message = parseMessage(text);
        if (message === undefined || "method" in message || message.id !== id) return text;
        const { result } = message;
        if (method !== "tools/list") said = inside(result, "capabilities") ?? said;
        const tools = inside(result, "tools");
        if (method !== "tools/list" || !Array.isArray(tools)) return text;
        if (params?.["cursor"] === undefined) support.clear();
        const listed: unknown[] = tools.map((tool: unknown) => {
          support.set(String(inside(tool, "name")), taskSupport(tool));
          return taskSupport(tool) === "required" ? asOptional(tool as object) : tool;
        });
        if (listed.every((tool, at) => tool === tools[at])) return text;
        return JSON.stringify({ ...message, result: { ...(result as object), tools: listed } });
      });
    },
  };
}

const taskSupport = (tool: unknown) => inside(tool, "execution", "taskSupport");

function asOptional(tool: { readonly execution?: unknown }) {
  return { ...tool, execution: { ...(tool.execution as object), taskSupport: "optional" } };
}

/** A member of members; `undefined` where there is none. */
function inside(value: unknown, ...path: readonly string[]): unknown {
  let part = value;
  for (const name of path) {
    if (!isRecord(part) || !Object.hasOwn(part, name)) return undefined;
    part = part[name];
  }
  return part;
}
