// What it costs to put the client's ids back, without a network: the session fetch, which looks at the two ends of a
// large message, beside fetches that print every answer again. And the search for line feeds, which an SSE answer needs.
import { createAnswerTemplate, type Framing, framings } from "../answers.ts";
import type { BenchOptions, BenchPart, BenchRatio } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import { median } from "../server-load/statistics.ts";
import { createResumedFetch } from "../session.ts";
import { createToolCall } from "../tool-call.ts";
import { type ToolResultName, toolResultNames } from "../tool-results.ts";
import {
  createEventPrintingFetch,
  createEventReplacingFetch,
  createJsonPrintingFetch,
} from "./reprinting-fetch.ts";
import { timeInTurns } from "./time-in-turns.ts";

const url = "http://localhost/mcp";
const bytes = 1_000_000;
/** What `fetch` reads from a fast connection at once. */
const chunkBytes = 65_536;
/** Of the time of an alternative; one that took less would be the better design. */
const maxShare = 0.5;
/** Of the time of the standard search, for which a runtime's own would not be worth a branch. */
const maxShareOfSearch = 0.2;

const alternatives: Record<Framing, Record<string, typeof createJsonPrintingFetch>> = {
  json: { "parse and print": createJsonPrintingFetch },
  sse: {
    "eventsource-parser": createEventReplacingFetch,
    "eventsource-parser, parse and print": createEventPrintingFetch,
  },
};

export async function measureIds({ rounds = 100 }: BenchOptions = {}): Promise<BenchPart> {
  const ratios: BenchRatio[] = [];
  const rows: (string | number)[][] = [];
  for (const framing of framings) {
    for (const content of toolResultNames) {
      const times = await timeInTurns(await createCandidates(framing, content), rounds);
      for (const [name, ms] of Object.entries(times)) {
        rows.push([framing.toUpperCase(), content, name, median(ms).toFixed(2)]);
      }
      for (const name of Object.keys(alternatives[framing])) {
        ratios.push({
          group: framing.toUpperCase(),
          label: `${content}, ${name}`,
          ...medianRatio(times["session fetch"]!, times[name]!),
          target: { atMost: maxShare },
        });
      }
    }
  }
  const { node, standard } = await timeInTurns(createSearches(), 3 * rounds);
  ratios.push({
    group: "A byte sought in 1 MB",
    label: "indexOf of Buffer, of Uint8Array",
    ...medianRatio(node, standard),
    target: { atMost: maxShareOfSearch },
  });
  return {
    id: "ids",
    title: "Restoring ids in answers of 1 MB",
    ratios,
    counts: [],
    tables: [
      {
        title: "Milliseconds for an answer, medians",
        columns: ["answer", "content", "restored by", "ms"],
        rows,
      },
    ],
    notes: [],
  };
}

async function createCandidates(
  framing: Framing,
  content: ToolResultName,
): Promise<Record<string, () => Promise<void>>> {
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
    await checkOwnId(name, fetch);
    candidates[name] = async () => readToEnd(await fetch(url, createToolCall()));
  }
  return candidates;
}

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

async function checkOwnId(name: string, fetch: typeof globalThis.fetch): Promise<void> {
  const call = createToolCall();
  const { id } = JSON.parse(call.body) as { id: number };
  const answer = await (await fetch(url, call)).text();
  if (!answer.trimEnd().endsWith(`,"id":${id}}`)) {
    throw new Error(`${name}: the answer does not have the id of its request.`);
  }
}

async function readToEnd({ body }: Response): Promise<void> {
  for await (const chunk of body ?? []) void chunk;
}

/** A line feed that is not there. */
function createSearches() {
  const chunks = Array.from({ length: Math.ceil(bytes / chunkBytes) }, () =>
    new Uint8Array(chunkBytes).fill(0x41),
  );
  const searchWith = (prototype: Uint8Array) => async () => {
    for (const chunk of chunks) prototype.indexOf.call(chunk, 10);
  };
  return { node: searchWith(Buffer.prototype), standard: searchWith(Uint8Array.prototype) };
}
