/**
 * One step of an application with an agent, in a process of its own, which ends as soon as its step has. It prints all
 * that an application could write down: events, spans, errors, results.
 */
import { inspect } from "node:util";
import {
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { openTelemetry } from "@durable-mcp/ai-sdk/opentelemetry";
import { McpSessionError } from "@durable-mcp/core";
import { createOAuth } from "@durable-mcp/oauth";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { startTracing } from "../../../sessions/test/start-tracing.ts";
import { signInByHand } from "../../../oauth/test/scripted-user.ts";
import { openStoreAt } from "../durable/store-place.ts";
import { bindsTokens } from "./bound-tokens.ts";
import type { AgentReport, AgentTask, AgentWork } from "./agent-protocol.ts";
import { digest } from "./journal.ts";

const exporter = startTracing();
const requests: string[] = [];
const secrets = new Set<string>();

process.once("message", (task: AgentTask) => void run(task));

async function run(task: AgentTask): Promise<void> {
  const done: Partial<AgentReport> = await carryOut(task).catch((error: unknown) => {
    print(error);
    if (!McpSessionError.isInstance(error)) throw error;
    return { failure: { code: error.code, startUrl: error.data.startUrl } };
  });
  print({ ...done, location: undefined });
  for (const span of exporter.getFinishedSpans()) print(span);
  const report: AgentReport = { ...done, requests, secrets: [...secrets] };
  // Nothing is waited for that is still on its way.
  process.send!(report, () => process.exit());
}

async function carryOut(task: AgentTask): Promise<Partial<AgentReport>> {
  const { application, work, user, sessionId, onUnavailable } = task;
  const principal = { type: "user", issuer: "https://app.example", id: user } as const;
  const { store } = await openStoreAt(application.place);
  const oauth = createOAuth({
    ...(bindsTokens() && { dpop: "required" as const }),
    ...{ store, redirectUrl: application.redirectUrl, onEvent: print },
    keys: { current: Buffer.from(application.key, "base64") },
  });
  const model = scriptedModel(...(work.type === "generate" ? work.turns : []));
  const notes = defineMcpClientConnection({
    ...{ url: application.url, description: "A notebook.", auth: oauth, fetch: countedFetch },
    ...{ session: application.session, required: task.required ?? false },
  });
  const sessions = createDurableSessions({
    ...{ connections: { notes }, store, agent: task.agent ?? "notes" },
    ...{ onEvent: { every: print }, telemetry: openTelemetry() },
  });
  const agent = createDurableAgent({ sessions, model, onUnavailable });
  return await workOf(work);

  async function workOf(each: AgentWork): Promise<Partial<AgentReport>> {
    switch (each.type) {
      case "generate": {
        const options = { sessionId, principal };
        const { messages } = each;
        const result = await agent.generate({ messages, options });
        const [call] = model.doGenerateCalls;
        return {
          text: result.text,
          isWaiting: result.rawFinishReason === "waiting",
          messages: [...messages, ...result.responseMessages],
          model: {
            calls: model.doGenerateCalls.length,
            tools: (call?.tools ?? []).map(({ name }) => name),
            told: toolResults(model),
          },
        };
      }
      case "waiting":
        return { waiting: await sessions.waiting(sessionId, { principal }) };
      case "sign in": {
        const started = await oauth.start(new Request(each.startUrl), { principal });
        const location = started.headers.get("location")!;
        const { redirectUrl } = application;
        const callback = await signInByHand(new URL(location), redirectUrl, "consent", user);
        const { status } = await oauth.callback(new Request(callback), { principal });
        return { status, location };
      }
      default:
        await sessions.endAll({ principal });
        return {};
    }
  }
}

async function countedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  const token = headers.get("authorization")?.replace(/^Bearer /i, "");
  for (const secret of [token, headers.get("mcp-session-id")]) {
    if (secret) secrets.add(digest(secret));
  }
  const response = await fetch(input, init);
  const message = typeof init?.body === "string" ? init.body : "{}";
  const { method } = JSON.parse(message) as { method?: string };
  requests.push(`${method ?? init?.method} ${response.status}`);
  return response;
}

function print(value: unknown): void {
  console.log(inspect(value, { depth: 12, showHidden: true }));
}
