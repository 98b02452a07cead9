import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  sendJson,
  sendText,
  startHttpServer,
  type TestHttpServer,
} from "../../core/test/http-server.ts";
import { confirm, yes } from "../../core/test/yes-or-no.ts";

export { confirm, yes };

import type { Interceptor } from "./notebook-server.ts";

const version = "2026-07-28";

/** A request of a tool, as it arrived. */
interface AskingLeg {
  readonly params: {
    readonly name: string;
    readonly arguments?: Record<string, unknown>;
    readonly inputResponses?: Record<string, unknown>;
    readonly requestState?: string;
  };
  readonly headers: IncomingHttpHeaders;
}

export interface AskingServer extends TestHttpServer {
  readonly url: string;
  /** Calls of tools, later legs too, in the order in which they came. */
  readonly legs: AskingLeg[];
  /** All that it has given out as `requestState`. */
  readonly states: string[];
}

/**
 * What a tool answers to a leg: `undefined` for the next question; else members of a JSON-RPC answer, or a `text` in
 * its place, and a `status`.
 */
export type AnswerLeg = (leg: AskingLeg) => object | undefined | Promise<object | undefined>;

const schema = { type: "object", properties: { item: { type: "string" } } };

/**
 * A server of the revision without sessions. Its tool `order` asks once; `order_twice` asks a second time; `look` asks
 * nothing. Its calls are carried out when a person has answered.
 */
export async function startAskingServer({
  answer = () => undefined,
  question = () => confirm,
  guard = () => "next",
}: {
  /** Stands before the server. @default lets all through */
  guard?: Interceptor;
  /** Takes the place of an answer, such as `{ error }` or `{ result }`. */
  answer?: AnswerLeg;
  /** The question. @default a yes-or-no question */
  question?: (requestState: string) => object;
} = {}): Promise<AskingServer> {
  const legs: AskingLeg[] = [];
  const states: string[] = [];
  const said = new Map<string, number>();

  const call = async (leg: AskingLeg) => {
    legs.push(leg);
    const own = await answer(leg);
    if (own !== undefined) return own;
    const { name, requestState = "" } = leg.params;
    const round = said.get(requestState) ?? 0;
    const rounds = { order: 1, order_twice: 2 }[name] ?? 0;
    if (round >= rounds) {
      const { item } = leg.params.arguments ?? {};
      const content = [{ type: "text", text: `${name} ${String(item)} is done.` }];
      return { result: { resultType: "complete", content } };
    }
    // As those of real servers: base64, or JSON.
    const state = `state-${randomUUID()}/+"&<=`;
    states.push(state);
    said.set(state, round + 1);
    const inputRequests = { confirm: question(state) };
    return { result: { resultType: "input_required", inputRequests, requestState: state } };
  };

  const server = await startHttpServer(async (request, response) => {
    if ((await guard(request, response)) !== "next") return;
    const { method, message, headers } = request;
    if (method !== "POST") return void response.writeHead(405).end();
    const { id, params } = message;
    const give = ({ status = 200, text, ...body }: { status?: number; text?: string }) =>
      text === undefined
        ? sendJson(response, status, { jsonrpc: "2.0", id, ...body })
        : sendText(response, status, text);
    const done = (result: object) =>
      give({ result: { resultType: "complete", ...result } } as object);
    switch (message.method) {
      case "server/discover":
        return done({ supportedVersions: [version], capabilities: { tools: {} } });
      case "tools/list": {
        const names = ["order", "order_twice", "look"];
        return done({ tools: names.map((name) => ({ name, inputSchema: schema })) });
      }
      case "tools/call":
        return give(await call({ params, headers }));
      default:
        return give({ error: { code: -32601, message: "Method not found" } } as object);
    }
  });
  return Object.assign(server, { url: `${server.origin}/mcp`, legs, states });
}
