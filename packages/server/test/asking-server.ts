import {
  acceptedContent,
  inputRequired,
  inputResponse,
  type McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

const confirmation = z.object({ ok: z.boolean() });
const requestedSchema = {
  type: "object" as const,
  properties: { ok: { type: "boolean" as const } },
  required: ["ok"],
};
const elicit = (message: string) => inputRequired.elicit({ message, requestedSchema });

/** Tools, a prompt and a resource that ask as SDK v2 wants it, and say in `lines` what they carry out. */
export function addAskingTools(mcp: McpServer, lines: string[]): void {
  const inputSchema = z.object({ item: z.string() });
  mcp.registerTool("order", { inputSchema }, async ({ item }, { mcpReq }) => {
    const said = inputResponse(mcpReq.inputResponses, "confirm");
    if (said.kind === "missing") {
      lines.push(`ask ${item}`);
      const inputRequests = { confirm: elicit(`Order ${item}?`) };
      return inputRequired({ inputRequests, requestState: `state of ${item}` });
    }
    const ok = acceptedContent(mcpReq.inputResponses, "confirm", confirmation)?.ok;
    if (ok !== true) return text(`not ordered: ${JSON.stringify(said)}`);
    lines.push(`order ${item}`);
    return text(`ordered ${item} with ${String(mcpReq.requestState())}`);
  });
  mcp.registerTool("order_slowly", { inputSchema }, async ({ item }, { mcpReq }) => {
    if (!mcpReq.inputResponses) return inputRequired({ inputRequests: { confirm: elicit(item) } });
    lines.push(`order ${item}`);
    await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve));
    lines.push("aborted");
    return text("never");
  });
  mcp.registerTool("order_both", { inputSchema: z.object({}) }, (_args, { mcpReq }) => {
    const { a, b } = (mcpReq.inputResponses ?? {}) as Record<string, { content?: object }>;
    if (a && b) return text(JSON.stringify([a.content, b.content]));
    return inputRequired({ inputRequests: { a: elicit("a?"), b: elicit("b?") } });
  });
  mcp.registerTool("ask_for_ever", { inputSchema: z.object({}) }, (_args, { mcpReq }) => {
    const round = Number(mcpReq.requestState() ?? 0) + 1;
    lines.push(`round ${round}`);
    return inputRequired({
      inputRequests: { confirm: elicit(`round ${round}`) },
      requestState: String(round),
    });
  });
  mcp.registerTool("pass_on", { inputSchema: z.object({}) }, (_args, { mcpReq }) => {
    const steps = Number(mcpReq.requestState() ?? 0) + 1;
    return steps > 2 ? text(`${steps} steps`) : inputRequired({ requestState: String(steps) });
  });
  mcp.registerPrompt("greet", {}, ({ mcpReq }) => {
    const ok = acceptedContent(mcpReq.inputResponses, "confirm", confirmation)?.ok;
    if (ok === undefined) return inputRequired({ inputRequests: { confirm: elicit("Greet?") } });
    return { messages: [{ role: "user", content: { type: "text", text: `hello ${ok}` } }] };
  });
  mcp.registerResource("rules", "notes://rules", {}, (uri, { mcpReq }) => {
    const said = inputResponse(mcpReq.inputResponses, "roots");
    if (said.kind === "roots") {
      return { contents: [{ uri: uri.href, text: `${said.roots.length} roots` }] };
    }
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
}
