import { randomUUID } from "node:crypto";
import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const tripMs = 8_000;

interface TaskRequest {
  readonly taskId: string;
}

/** A tool that takes longer than a step: the server makes a task of its call, and says how it is when it is asked. */
export function createTracking(): (server: McpServer) => void {
  const trips = new Map<string, { readonly item: string; readonly startedAt: number }>();

  function describe(taskId: string) {
    const trip = trips.get(taskId);
    if (trip === undefined) throw Object.assign(new Error("Unknown task"), { code: -32_602 });
    const { item, startedAt } = trip;
    const createdAt = new Date(startedAt).toISOString();
    const isOver = Date.now() - startedAt >= tripMs;
    const result: CallToolResult = { content: [{ type: "text", text: `${item} is there.` }] };
    return {
      ...{ taskId, createdAt, lastUpdatedAt: createdAt, ttlMs: 3_600_000, pollIntervalMs: 2_000 },
      statusMessage: `${item} is on its way`,
      ...(isOver ? { status: "completed", result } : { status: "working" }),
    };
  }

  return (server) => {
    server.registerTool(
      "track",
      {
        description: "Follows an ordered item until it is there.",
        inputSchema: z.object({ item: z.string() }),
      },
      ({ item }) => {
        const taskId = randomUUID();
        trips.set(taskId, { item, startedAt: Date.now() });
        // The SDK has no tasks of this revision yet, and passes the result on.
        return { resultType: "task", ...describe(taskId) } as never;
      },
    );
    const schemas = { params: z.looseObject({ taskId: z.string() }), result: z.looseObject({}) };
    const complete = { resultType: "complete" };
    server.server.setRequestHandler("tasks/get", schemas, ({ taskId }: TaskRequest) => ({
      ...complete,
      ...describe(taskId),
    }));
    server.server.setRequestHandler("tasks/cancel", schemas, ({ taskId }: TaskRequest) => {
      trips.delete(taskId);
      return complete;
    });
  };
}
