import type { Turn } from "../steps/turn.ts";

/** What one sub-agent is to do. */
export interface Errand {
  /** The page to look at in its browser. */
  page: string;
  /** What to put into the cart. */
  item: string;
}

/** What the root agent has its two sub-agents do, one turn a step. */
export const errands: [Errand, Errand][] = [
  [
    { page: "bakery", item: "bread" },
    { page: "dairy", item: "milk" },
  ],
  [
    { page: "orchard", item: "apples" },
    { page: "apiary", item: "honey" },
  ],
];

/** The first turn of the root agent in each step. */
export function openTurn(pagesUrl: string): Turn {
  return {
    prompt: "Open the market.",
    calls: [{ tool: "browser_navigate", input: { url: `${pagesUrl}market` } }],
    answer: ([seen = ""]) => titleIn(seen),
  };
}

/** The second one: a look at its own browser first, then both errands at once. */
export function rootTurn(plan: (typeof errands)[number]): Turn {
  return {
    prompt: `Look at your browser. Then have two helpers fetch ${plan.map(({ item }) => item).join(" and ")}.`,
    calls: [{ tool: "browser_snapshot", input: {} }],
    together: plan.map((errand) => ({ tool: "send_helper", input: errand })),
    answer: ([seen = ""]) => titleIn(seen),
  };
}

/** The turn of a sub-agent: its page, the cart, and a last look at its browser. */
export function helperTurn(pagesUrl: string, { page, item }: Errand): Turn {
  return {
    prompt: `Open ${pagesUrl + page}, put ${item} into the cart, and say what your browser shows.`,
    calls: [
      { tool: "browser_navigate", input: { url: pagesUrl + page } },
      { tool: "add_item", input: { item } },
      { tool: "browser_snapshot", input: {} },
    ],
    answer: (results) => titleIn(results.at(-1) ?? ""),
  };
}

/** Reads what Playwright said of the page that is open. */
function titleIn(said: string): string {
  const error = /^Error: (.*)$/m.exec(said)?.[1];
  return error ?? /Page Title: (.*)/.exec(said)?.[1] ?? "no page";
}
