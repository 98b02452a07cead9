// What putting the client's ids back costs, without a network: the session fetch, which looks at
// the two ends of a large message, beside fetches that print every answer again.
import { afterAll, describe, expect, test } from "vitest";
import { createAnswerTemplate, type Framing, framings } from "./answers.ts";
import {
  createEventPrintingFetch,
  createEventReplacingFetch,
  createJsonPrintingFetch,
} from "./reprinting-fetch.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { createTable } from "./table.ts";
import { createToolCall } from "./tool-call.ts";
import { type ToolResultName, toolResultNames } from "./tool-results.ts";

const url = "http://localhost/mcp";
const bytes = 1_000_000;
/** What `fetch` reads from a fast connection at once. */
const chunkBytes = 65_536;
const rounds = 200;
/** By how much the alternatives have to be slower, or they would be the better design. */
const minAdvantage = 2;

const alternatives: Record<Framing, Record<string, typeof createJsonPrintingFetch>> = {
  json: { "parse and print": createJsonPrintingFetch },
  sse: {
    "eventsource-parser": createEventReplacingFetch,
    "eventsource-parser, parse and print": createEventPrintingFetch,
  },
};

const table = createTable(
  `Ids restored in answers of ${bytes} bytes from memory: medians of ${rounds} rounds`,
  ["answer", "content", "restored by"],
  ["extra ms", "times the session fetch"],
);
afterAll(() => table.print());

describe.each(framings)("%s", (framing) => {
  test.each(toolResultNames)("%s", async (content) => {
    const answer = createAnsweringFetch(framing, content);
    const fetches: Record<string, typeof fetch> = {
      "nothing restored": answer,
      "session fetch": createResumedFetch(url, answer),
    };
    for (const [name, create] of Object.entries(alternatives[framing])) {
      fetches[name] = create(answer);
    }
    const candidates: Record<string, () => Promise<void>> = {};
    for (const [name, fetch] of Object.entries(fetches)) {
      await expectOwnId(fetch);
      candidates[name] = async () => readToEnd(await fetch(url, createToolCall()));
    }

    const measured = Object.entries(await measureSideBySide(candidates, rounds)).slice(1);
    const sessionMs = measured[0]?.[1].extraMs ?? Number.NaN;
    for (const [name, { extraMs }] of measured) {
      const times = (extraMs / sessionMs).toFixed(1);
      table.add([framing, content, name], [extraMs.toFixed(2), times]);
    }
    for (const [, { extraMs }] of measured.slice(1)) {
      expect(extraMs).toBeGreaterThan(minAdvantage * sessionMs);
    }
  });
});

/** A `fetch` that answers from memory, in chunks. */
function createAnsweringFetch(framing: Framing, content: ToolResultName): typeof fetch {
  const { contentType, withId } = createAnswerTemplate(framing, content, bytes);
  return async (_, init) => {
    const { id } = JSON.parse(init?.body as string) as { id: unknown };
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

async function expectOwnId(fetch: typeof globalThis.fetch): Promise<void> {
  const call = createToolCall();
  const { id } = JSON.parse(call.body) as { id: number };
  const answer = await (await fetch(url, call)).text();
  expect(answer.slice(-40).trimEnd()).toMatch(new RegExp(`,"id":${id}\\}$`));
}

async function readToEnd({ body }: Response): Promise<void> {
  for await (const chunk of body ?? []) void chunk;
}
