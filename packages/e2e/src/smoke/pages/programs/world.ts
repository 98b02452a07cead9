// What stands around a program of a page: MCP servers, models, and the environment of its process.
import { createServer } from "node:http";
import { createFaultyServer } from "@durable-mcp/testing";

const tools = {
  browser_snapshot: (_: unknown, { session }: any) => `Page: ${session.page ?? "about:blank"}`,
  browser_navigate: ({ url }: any, { session }: any) => `Page: ${(session.page = url)}`,
  browser_tabs: () => "1 tab",
  add_note: ({ text }: any) => `Noted: ${text}.`,
  forecast: ({ city }: any) => `Rain in ${city}.`,
  order: ({ item }: any) => `Ordered ${item}.`,
  select_workspace: () => "Selected.",
  ask_price: () => "12",
};

export type World = Awaited<ReturnType<typeof startWorld>>;

/** What a block may take as given. */
export interface Given {
  /**
   * The given thing of that name, always the same.
   *
   * @param type as the page declares it, where that makes a difference
   */
  readonly take: (name: string, type?: string) => Promise<any>;
  /** Of the block that takes it. */
  readonly code: string;
  readonly world: World;
}

export type Makers = Readonly<Record<string, () => unknown>>;

/** Starts it: a server for everybody, one that wants a sign-in, and one that asks before it orders. */
export async function startWorld() {
  const open = await createFaultyServer({ tools });
  const locked = await createFaultyServer({ tools });
  const signIn = locked.requireSignIn();
  const asking = await createFaultyServer({ tools, era: "2026-07-28" });
  const ok = { message: "Order tea?", form: { ok: { type: "boolean" } } };
  asking.ask("order", [{ confirm: ok }]);
  const anthropic = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => (text += part));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(messageOf(JSON.parse(text))));
    });
  });
  await new Promise<void>((resolve) => anthropic.listen(0, "127.0.0.1", resolve));
  process.env["ANTHROPIC_BASE_URL"] = `http://127.0.0.1:${(anthropic.address() as any).port}`;
  const calls = () => [open, locked, asking].flatMap(({ ledger }) => ledger).length;
  const close = async () => {
    anthropic.close();
    await Promise.all([open, locked, asking].map((server) => server.close()));
  };
  return { open, locked, asking, signIn, calls, close };
}

/** Anthropic's answer: it calls the first tool once, then says what that answered. */
function messageOf({ messages, tools: offered = [] }: any) {
  const last = JSON.stringify(messages.at(-1));
  const isAnswered = last.includes("tool_result");
  const tool = offered.find(({ name }: any) => /order|snapshot/.test(name));
  const content =
    isAnswered || tool === undefined
      ? { type: "text", text: "Done." }
      : { type: "tool_use", id: `toolu_${messages.length}`, name: tool.name, input: {} };
  return {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "claude", content: [content] },
    stop_reason: content.type === "text" ? "end_turn" : "tool_use",
    ...{ stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
  };
}

/**
 * A text of a page at home in this world: its MCP servers are ours, its database too.
 *
 * @param port what stands for 3000
 */
export function atHome(text: string, { open, locked }: World, port: number): string {
  const servers = /(https?:\/\/[\w.-]+(?::\d+)?)\/mcp\b/g;
  const isLocked = /\boauth\b/i.test(text);
  const origins = new Set([...text.matchAll(servers)].map(([, origin]) => origin!));
  let changed = text;
  for (const origin of origins) {
    changed = changed.replaceAll(origin, isLocked ? locked.origin : open.origin);
  }
  return changed
    .replaceAll(/\b3000\b/g, String(port))
    .replaceAll("redis://localhost:6379", process.env["REDIS_URL"] ?? "redis://localhost:6379")
    .replaceAll("/srv/files", ".")
    .replaceAll("=…", "=token")
    .replaceAll("my-stdio-server", "@modelcontextprotocol/server-memory");
}
