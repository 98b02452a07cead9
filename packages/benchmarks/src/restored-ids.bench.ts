// What putting the client's ids back costs, without a network: the session fetch, which looks at
// the two ends of a large message, beside fetches that print every answer again.
import { afterAll, describe, expect, test } from "vitest";
import { createAnswerTemplate, type Framing, framings } from "./answers.ts";
import { printTable } from "./print-table.ts";
import {
  createEventPrintingFetch,
  createEventReplacingFetch,
  createJsonPrintingFetch,
} from "./reprinting-fetch.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { createToolCall } from "./tool-call.ts";
import { type ToolResultName, toolResultNames } from "./tool-results.ts";

const url = "http://localhost/mcp";
const bytes = 1_000_000;
/** What `fetch` reads from a fast connection at once. */
const chunkBytes = 65_536;
const rounds = 200;

const alternatives: Record<Framing, Record<string, typeof createJsonPrintingFetch>> = {
  json: { "parse and print": createJsonPrintingFetch },
  sse: {
    "eventsource-parser": createEventReplacingFetch,
    "eventsource-parser, parse and print": createEventPrintingFetch,
  },
};

const rows: string[][] = [];

describe.each(framings)("%s", (framing) => {
  test.each(toolResultNames)("%s", async (result) => {
    const answer = createAnsweringFetch(framing, result);
    const fetches = {
      "as it came": answer,
      "session fetch": createResumedFetch(url, answer),
      ...Object.fromEntries(
        Object.entries(alternatives[framing]).map(([name, create]) => [name, create(answer)]),
      ),
    };
    for (const fetch of Object.values(fetches)) {
      const request = createToolCall();
      const { id } = JSON.parse(String(request.body)) as { id: number };
      expect((await (await fetch(url, request)).text()).slice(-50)).toContain(`"id":${id}}`);
    }
    const candidates = Object.entries(fetches).map(([name, fetch]) => ({
      name,
      run: async () => readToEnd(await fetch(url, createToolCall())),
    }));
    const [, session, ...others] = await measureSideBySide(candidates, rounds);
    if (!session) throw new Error("Nothing was measured.");
    for (const { name, extraMs } of [session, ...others]) {
      const times = extraMs / session.extraMs;
      rows.push([framing, result, name, extraMs.toFixed(2), times.toFixed(1)]);
    }
    for (const other of others) expect(other.extraMs).toBeGreaterThan(2 * session.extraMs);
  });
});

/** A `fetch` that answers from memory, in chunks. */
function createAnsweringFetch(framing: Framing, result: ToolResultName): typeof fetch {
  const { contentType, withId } = createAnswerTemplate(framing, result, bytes);
  return async (_, init) => {
    const { id } = JSON.parse(String(init?.body)) as { id: unknown };
    const answer = new Uint8Array(withId(id));
    let position = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (position >= answer.length) return controller.close();
          controller.enqueue(answer.subarray(position, position + chunkBytes));
          position += chunkBytes;
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { "content-type": contentType } });
  };
}

async function readToEnd({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  while (reader && !(await reader.read()).done);
}

afterAll(() => {
  const columns = ["answer", "content", "ids restored by", "extra ms", "times the session fetch"];
  printTable(`Ids in answers of ${bytes} bytes, medians of ${rounds} rounds`, columns, rows);
});
