import type { ServerResponse } from "node:http";
import type { SlowServer } from "./slow-server.ts";

/** `frozen`: nothing comes back, as for a process that is killed. */
export type AnswerFault = 502 | 503 | 504 | "reset" | "frozen";

/**
 * Stands before a server, and lets the first of a person's answers fail, as a proxy does.
 *
 * @param when whether the server has got them
 * @returns all the answers that came so far
 */
export function failAnswers(
  slow: Pick<SlowServer, "url" | "intercept">,
  { fault, when, times }: { fault: AnswerFault; when: "before" | "after"; times: number },
): readonly string[] {
  const sent: string[] = [];
  slow.intercept(async ({ message, headers, body }, response) => {
    const isAnswer = message && (!("method" in message) || message.method === "tasks/update");
    if (!isAnswer || headers["x-passed-on"]) return "next";
    sent.push(JSON.stringify(message.result ?? message.params.inputResponses));
    if (sent.length > times) return "next";
    if (when === "after") {
      const { host: _, connection: _connection, "content-length": _length, ...own } = headers;
      const passed = { ...(own as Record<string, string>), "x-passed-on": "yes" };
      await fetch(slow.url, { method: "POST", headers: passed, body });
    }
    return refuse(response, fault);
  });
  return sent;
}

function refuse(response: ServerResponse, fault: AnswerFault): void {
  if (fault === "reset") response.destroy();
  else if (fault !== "frozen") response.writeHead(fault).end("Bad gateway");
}
