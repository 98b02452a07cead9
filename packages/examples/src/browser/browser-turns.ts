import type { ToolCall, Turn } from "../steps/turn.ts";

/** The conversation of the browser demo, one turn a step. CSS selectors name the elements. */
export function browserTurns(pageUrl: string): Turn[] {
  return [
    {
      prompt: `Open ${pageUrl}.`,
      calls: [{ tool: "browser_navigate", input: { url: pageUrl } }],
      answer: answer((page) => `I opened “${page.title}”.`),
    },
    {
      prompt: "Fill in the form: I am Ada (#name) and want tea (#drink). Do not send it yet.",
      calls: [type("#name", "Ada"), type("#drink", "tea")],
      answer: answer(() => "I filled in the form."),
    },
    {
      prompt: "Now send it (#send).",
      calls: [{ tool: "browser_click", input: { target: "#send" } }],
      answer: answer((page) => `I sent it. The page now says “${page.title}”.`),
    },
    {
      prompt: "Take a screenshot.",
      calls: [{ tool: "browser_take_screenshot", input: { scale: "css" } }],
      answer: answer((page) => `I took a screenshot of ${page.url ?? "the open page"}.`),
    },
  ];
}

function type(target: string, text: string): ToolCall {
  return { tool: "browser_type", input: { target, text } };
}

/** Reads what Playwright said: an error, or where the page is now if that has changed. */
function answer(
  describe: (page: { title: string | undefined; url: string | undefined }) => string,
): Turn["answer"] {
  return (results) => {
    const said = results.join("\n");
    const find = (pattern: RegExp) => pattern.exec(said)?.[1];
    const error = find(/^Error: (.*)$/m);
    if (error !== undefined) return `I could not: ${error}`;
    return describe({ title: find(/Page Title: (.*)/), url: find(/Page URL: (.*)/) });
  };
}
