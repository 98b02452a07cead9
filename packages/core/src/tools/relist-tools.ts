import { abortable } from "../base/bounded-wait.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { RequestTemplate, SendOwnMessage } from "../session/own-message.ts";
import { readAnswer } from "../wire/read-answer.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import type { EmitSessionEvent } from "../session/session-event.ts";
import type { SlotState } from "../session/session-slot.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";
import { withTimeLimit } from "../base/bounded-wait.ts";
import type { ToolListKeeper } from "./tool-list.ts";

const maxPages = 100;
const timeoutMs = 10_000;

/**
 * Lists the tools of a session that took the place of a lost one, if that one had a kept list:
 * clients that were given the old list do not ask again, and the next step should not have to.
 * Best effort: without it, the next `tools/list` goes to the server.
 */
export async function relistTools({
  state,
  lost,
  sendOwn,
  ids,
  tools,
  emit,
  template,
  signal,
}: {
  state: SlotState;
  lost: ActiveSessionSnapshot;
  sendOwn: SendOwnMessage;
  ids: RequestIds;
  tools: ToolListKeeper;
  emit: EmitSessionEvent;
  template: RequestTemplate;
  signal: AbortSignal;
}): Promise<void> {
  const request: JsonRpcRequest = { jsonrpc: "2.0", id: "", method: "tools/list" };
  const before = lost.toolList ?? state.localTools?.list;
  if (before === undefined || tools.answer(request) !== undefined) return;
  const session = state.live;
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
          await response.body?.cancel();
          return undefined;
        },
      );
      // Not every fetch heeds a signal, and the requests of the step wait for this.
      const answer = await abortable(listing, bounded);
      if (answer?.result === undefined) return;
      tools.observe(answer, { wireId: id, request: message, progressToken: undefined });
      cursor = answer.result["nextCursor"];
      if (cursor === undefined || cursor === null) break;
    }
  } catch {
    return;
  }
  const listed = tools.answer(request)?.tools;
  if (listed && JSON.stringify(listed) !== JSON.stringify(before.tools)) {
    emit({ type: "tools-changed", reason: "new-session" });
  }
}
