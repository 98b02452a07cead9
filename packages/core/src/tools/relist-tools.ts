import { letGo } from "../wire/read-text.ts";
import { abortable, withTimeLimit } from "../base/bounded-wait.ts";
import { sameJson } from "../base/json-values.ts";
import type { RequestTemplate } from "../session/own-message.ts";
import type { SessionContext } from "../session/session-context.ts";
import { liveSession } from "../session/session-life.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { readAnswer } from "../wire/read-answer.ts";
import type { ToolListKeeper } from "./tool-list.ts";

const maxPages = 100;
const timeoutMs = 10_000;

/**
 * Lists the tools of a replacement session, if the lost session had a kept list. Clients with the old
 * list do not ask again, and the next step should not have to. Best effort: if it fails, the next
 * `tools/list` goes to the server.
 */
export async function relistTools(
  context: SessionContext & { readonly tools: ToolListKeeper },
  lost: ActiveSessionSnapshot,
  template: RequestTemplate,
  signal: AbortSignal,
): Promise<void> {
  const { state, sendOwn, ids, tools, emit } = context;
  const request: JsonRpcRequest = { jsonrpc: "2.0", id: "", method: "tools/list" };
  const before = lost.toolList ?? state.tools.local?.list;
  if (before === undefined || tools.answer(request) !== undefined) return;
  const session = liveSession(state);
  const bounded = withTimeLimit(timeoutMs, signal);
  try {
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const id = ids.next();
      const message =
        cursor === undefined ? { ...request, id } : { ...request, id, params: { cursor } };
      const listing = sendOwn(message, { template, session, signal: bounded }).then(
        async (response) => {
          if (response.ok) return await readAnswer(response, id);
          await letGo(response);
          return undefined;
        },
      );
      // Some fetches ignore the signal, and the requests of the step wait for this.
      const answer = await abortable(listing, bounded);
      if (answer?.result === undefined) return;
      tools.observe(answer, { wireId: id, request: message, progressToken: undefined });
      cursor = answer.result["nextCursor"];
      if (cursor == null) break;
    }
  } catch {
    return;
  }
  const listed = tools.answer(request)?.tools;
  if (listed && !sameJson(listed, before.tools)) {
    emit({ type: "tools-changed", reason: "new-session" });
  }
}
