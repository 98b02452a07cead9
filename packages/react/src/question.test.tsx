import type { InputRequest, InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { question } from "../test/chat-server.ts";
import { render } from "../test/render.ts";
import { Question, type QuestionProps, SignIn } from "./index.ts";

function form(properties: object, required: string[] = []): InputRequest {
  const requestedSchema = { type: "object", properties, required };
  const params = { message: "When shall it come?", requestedSchema };
  return { method: "elicitation/create", params } as InputRequest;
}

function url(address: string): InputRequest {
  const params = { mode: "url", message: "Pay for it", url: address } as const;
  return { method: "elicitation/create", params };
}

const asking = (ask: unknown): WaitingCall => ({
  ...question,
  requests: { ask } as WaitingCall["requests"],
});

async function open(ask: unknown, props: Partial<QuestionProps> = {}) {
  const sent: InputResponses[] = [];
  const all: QuestionProps = {
    call: asking(ask),
    onAnswer: async (responses) => void sent.push(responses),
    ...props,
  };
  const { element, render: draw } = render(<Question {...all} />);
  await expect.poll(() => element.querySelector("form")).not.toBeNull();
  const button = (name: string) =>
    [...element.querySelectorAll("button")].find(({ textContent }) => textContent === name);
  const byLabel = (name: string) => {
    const label = [...element.querySelectorAll("label")].find((each) => {
      return each.textContent.trim() === name;
    })!;
    return (label.querySelector("input") ??
      document.getElementById(label.htmlFor)) as HTMLInputElement;
  };
  const update = (changed: Partial<QuestionProps>) => draw(<Question {...all} {...changed} />);
  return { element, sent, button, byLabel, update };
}

describe("a form", () => {
  it("sends what was filled in as its schema wants it, and leaves empty optional fields out", async () => {
    const { sent, button, byLabel } = await open(
      form(
        {
          time: { type: "string", title: "Time", oneOf: [{ const: "12", title: "Noon" }] },
          cups: { type: "integer", title: "Cups", default: 2 },
          gift: { type: "boolean", title: "Gift" },
          extras: { type: "array", title: "Extras", items: { enum: ["milk", "honey"] } },
          none: { type: "array", title: "None", items: { enum: ["salt"] } },
          note: { type: "string", title: "Note" },
          at: { type: "string", title: "At", format: "date-time", default: "2026-07-28T09:30:00Z" },
        },
        ["time"],
      ),
    );
    byLabel("Time *").value = "12";
    byLabel("Gift").checked = true;
    byLabel("honey").checked = true;
    button("Accept")!.click();
    const at = "2026-07-28T09:30:00.000Z";
    const content = { time: "12", cups: 2, gift: true, extras: ["honey"], at };
    await expect.poll(() => sent).toEqual([{ ask: { action: "accept", content } }]);
  });

  it("names each field, describes it, and says which are required", async () => {
    const { element, byLabel } = await open(
      form({ mail: { type: "string", format: "email", description: "For the bill" } }, ["mail"]),
    );
    const input = byLabel("Mail *");
    expect([input.type, input.required]).toEqual(["email", true]);
    const notes = document.getElementById(input.getAttribute("aria-describedby")!);
    expect(notes?.textContent).toBe("For the bill");
    expect(element.querySelector("fieldset > legend")?.textContent).toBe("When shall it come?");
    // Without styles nothing runs together.
    expect(element.querySelector("[data-part=field]")?.textContent).toBe("Mail * For the bill");
    expect(element.querySelector("[data-part=actions]")?.textContent).toMatch(/^Accept Decline/);
    const heading = element.querySelector("form")!.getAttribute("aria-labelledby")!;
    expect(document.getElementById(heading)?.textContent).toBe("delivery asks you");
  });

  it("declines without content, and takes the call back", async () => {
    const withdrawn: WaitingCall[] = [];
    const { sent, button } = await open(form({ time: { type: "string" } }, ["time"]), {
      onWithdraw: async (call) => void withdrawn.push(call),
    });
    button("Decline")!.click();
    await expect.poll(() => sent).toEqual([{ ask: { action: "decline" } }]);
    await expect.poll(() => button("Decline")!.getAttribute("aria-disabled")).toBe("false");
    button("Take the call back")!.click();
    await expect.poll(() => withdrawn.length).toBe(1);
    expect(sent.length).toBe(1);
  });

  it("shows a problem at its field and focuses that; another one is an alert of the form", async () => {
    let problem: object = { field: "ask.content.note", message: "must be shorter" };
    const { element, button, byLabel } = await open(
      form({ time: { type: "string" }, note: { type: "string" } }),
      { onAnswer: async () => await Promise.resolve(problem as { message: string }) },
    );
    button("Accept")!.click();
    await expect.poll(() => document.activeElement).toBe(byLabel("Note"));
    expect(byLabel("Note").getAttribute("aria-invalid")).toBe("true");
    expect(byLabel("Time").getAttribute("aria-invalid")).toBe("false");
    expect(element.querySelector("[role=alert]")?.textContent).toBe("must be shorter");
    problem = { message: "This is over." };
    button("Accept")!.click();
    await expect
      .poll(() => element.querySelector("[role=alert]")?.textContent)
      .toBe("This is over.");
    expect(element.querySelector("[aria-invalid=true]")).toBeNull();
  });

  it("says when an answer did not go out, and sends one at a time", async () => {
    let count = 0;
    const { element, button } = await open(form({}), {
      onAnswer: async () => {
        count += 1;
        await new Promise((done) => setTimeout(done, 50));
        throw new Error("No network.");
      },
    });
    button("Accept")!.click();
    await expect.poll(() => button("Accept")!.getAttribute("aria-disabled")).toBe("true");
    button("Accept")!.click();
    await expect.poll(() => element.querySelector("[role=alert]")?.textContent).toBe("No network.");
    expect(count).toBe(1);
  });

  it("begins a new form with the next round, and takes the focus there", async () => {
    const ask = form({ note: { type: "string" } });
    const { element, button, byLabel, update } = await open(ask);
    byLabel("Note").value = "The blue door";
    button("Accept")!.click();
    update({ call: { ...asking(ask), state: "answering" } });
    await expect.poll(() => document.activeElement?.getAttribute("role")).toBe("status");
    update({ call: { ...asking(ask), round: 2 } });
    await expect.poll(() => document.activeElement?.localName).toBe("form");
    expect(document.activeElement).toBe(element.querySelector("form"));
    expect(byLabel("Note").value).toBe("");
  });
});

describe("a URL", () => {
  it("shows the host apart from the rest, and opens nothing by itself", async () => {
    const href = "https://pay.example:8443/at/https://bank.example/?a=1#b";
    const { element, sent, button } = await open(url(href));
    const link = element.querySelector("a")!;
    expect([link.href, link.target, link.rel]).toEqual([href, "_blank", "noopener noreferrer"]);
    expect(link.textContent).toBe("Open the page at pay.example:8443");
    const [host, rest] = [...element.querySelectorAll("[data-part=address] > *")];
    expect(host?.textContent).toBe("pay.example:8443");
    expect(rest?.textContent).toBe("/at/https://bank.example/?a=1#b");
    button("Accept")!.click();
    await expect.poll(() => sent).toEqual([{ ask: { action: "accept" } }]);
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,hi",
    "https://bank.example@evil.example/",
    "https://user:secret@evil.example/",
    "file:///etc/passwd",
    "no url",
  ])("neither links to %s nor lets anybody accept it", async (address) => {
    const { element, sent, button } = await open(url(address));
    expect(element.querySelector("a")).toBeNull();
    expect(button("Accept")).toBeUndefined();
    button("Decline")!.click();
    await expect.poll(() => sent).toEqual([{ ask: { action: "decline" } }]);
  });

  it("shows a host of other letters as address bars do", () => {
    const html = renderToStaticMarkup(
      <Question call={asking(url("https://bаnk.example/"))} onAnswer={async () => undefined} />,
    );
    expect(html).toContain("<strong>xn--");
  });
});

describe("what servers send", () => {
  it("shows texts as they are, and makes no HTML of them", () => {
    const attack = `<img src=x onerror="alert(1)"><script>alert(1)</script>`;
    const requests = {
      [attack]: form({ [attack]: { type: "string", title: attack, description: attack } }),
    };
    const call = { ...question, connection: attack, server: attack, tool: attack, requests };
    const html = renderToStaticMarkup(
      <Question call={call} onAnswer={async () => undefined} onWithdraw={async () => undefined} />,
    );
    expect(html).not.toMatch(/<(img|script)/);
    expect(html.split("&lt;script&gt;").length).toBeGreaterThan(4);
  });

  const strange = [undefined, null, 7, "text", [], [null], {}, { a: null }, { a: [] }];
  const asked: unknown[] = [
    { method: "sampling/createMessage", params: { messages: [] } },
    { method: "roots/list" },
    ...strange.flatMap((any) => [
      { method: "elicitation/create", params: any },
      { method: "elicitation/create", params: { message: {}, requestedSchema: any } },
      { method: "elicitation/create", params: { message: any, mode: "url", url: any } },
      form(any as object),
      form({ field: any }),
      form({
        field: { type: any, title: any, description: any, enum: any, enumNames: any, default: any },
        list: { type: "array", items: any, default: any },
        choice: { type: "string", oneOf: any, minLength: any, format: any },
        count: { type: "number", minimum: any, maximum: any, default: any },
        moment: { type: "string", format: "date-time", default: any },
      }),
    ]),
  ];

  it("shows what makes no sense without falling over", async () => {
    const requests = Object.fromEntries(asked.map((ask, index) => [`ask${index}`, ask]));
    const call = { ...question, requests: requests as WaitingCall["requests"] };
    const { element, sent, button } = await open(undefined, { call });
    expect(element.querySelectorAll("form > fieldset").length).toBe(asked.length);
    // Some of them are not for a person.
    expect(button("Accept")).toBeUndefined();
    button("Decline")!.click();
    await expect.poll(() => Object.keys(sent[0] ?? {}).length).toBe(asked.length);
  });

  it("can be accepted whatever its fields are", async () => {
    const forms = asked.filter((ask) => JSON.stringify(ask).includes('"properties"'));
    const requests = Object.fromEntries(forms.map((ask, index) => [`ask${index}`, ask]));
    const call = { ...question, requests: requests as WaitingCall["requests"] };
    const { sent, button } = await open(undefined, { call });
    button("Accept")!.click();
    await expect.poll(() => Object.keys(sent[0] ?? {}).length).toBe(forms.length);
  });
});

describe("the application's own elements", () => {
  it("renders fields, links and the form as it is told", () => {
    const call = {
      ...question,
      requests: { one: form({ note: { type: "string" } }), two: url("https://pay.example/x") },
    };
    const html = renderToStaticMarkup(
      <Question
        call={call}
        onAnswer={async () => undefined}
        renderField={({ title, id, input }) => (
          <label htmlFor={id}>
            Feld {title} {input}
          </label>
        )}
        renderUrl={({ href, host }) => <a href={href}>Seite bei {host}</a>}
      >
        {({ headingId, questions, acceptButton, withdrawButton }) => (
          <>
            <h3 id={headingId}>Eine Frage</h3>
            {questions}
            <button {...acceptButton}>Ja</button>
            {withdrawButton && <button {...withdrawButton}>Zurück</button>}
          </>
        )}
      </Question>,
    );
    expect(html).toMatch(
      /Eine Frage.*Feld Note.*<input.*Seite bei pay\.example.*value="accept".*Ja/,
    );
    expect(html).not.toMatch(/asks you|Zurück/);
  });
});

describe("SignIn", () => {
  const entry = {
    ...({ type: "sign-in", connection: "account", server: "https://club.example" } as const),
    ...{ scopes: ["points"], startUrl: "/oauth/start?connection=account", askedAt: 1 },
  };

  it("links to the application's own route, and says who wants it and what for", () => {
    const html = renderToStaticMarkup(<SignIn entry={entry} className="card" />);
    expect(html).toContain('<a href="/oauth/start?connection=account">Sign in</a>');
    expect(html).toContain("https://club.example, for: points");
    expect(html).toMatch(/^<section aria-labelledby="(.*?)".*class="card"><h2 id="\1">/);
  });

  it.each(["javascript:alert(1)", "data:text/html,hi"])("does not link to %s", (startUrl) => {
    expect(renderToStaticMarkup(<SignIn entry={{ ...entry, startUrl }} />)).not.toContain("href");
  });

  it("renders the application's own card", () => {
    const html = renderToStaticMarkup(
      <SignIn entry={entry}>{({ href, entry: { server } }) => <a href={href}>{server}</a>}</SignIn>,
    );
    expect(html).toContain('<a href="/oauth/start?connection=account">https://club.example</a>');
  });
});
