// A card with the questions of one waiting call. Nothing in it is fetched or opened by itself.
import { element } from "./element.js";
import { formField } from "./form-fields.js";

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/**
 * @param call the waiting call, as the server lists it
 * @param use.answer gets the answers; gives what was wrong with them, or nothing
 * @param use.withdraw takes the call back
 */
export function questionCard(call, { answer, withdraw }) {
  const { connection, server, tool, round, expiresAt } = call;
  const questions = Object.entries(call.requests).map(([key, request]) => question(key, request));
  const isAlone = questions.length === 1;
  const heading = element("p", { className: "asker" }, [
    element("strong", {}, [connection]),
    ` asks you before it goes on with ${tool}`,
    element("small", {}, [
      `${server}, question ${round}`,
      expiresAt ? `, open until ${moments.format(expiresAt)}` : "",
    ]),
  ]);
  const problem = element("p", { className: "problem", role: "alert", hidden: true });
  const sends = isAlone
    ? ["accept", "decline", "cancel"].map((action) => actionButton(action))
    : [actionButton("send")];
  const card = element("form", { className: "questions" }, [
    heading,
    ...questions.map((each) => each.show(isAlone)),
    problem,
    element("div", { className: "actions" }, [...sends, withdrawButton(withdraw)]),
  ]);
  card.addEventListener("submit", async (event) => {
    event.preventDefault();
    const action = isAlone ? event.submitter.value : undefined;
    const responses = questions.map(({ key, read }) => [key, read(action)]);
    for (const field of card.querySelectorAll(".problem")) field.hidden = true;
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    const wrong = await answer(Object.fromEntries(responses));
    for (const button of card.querySelectorAll("button")) button.disabled = false;
    if (wrong) showProblem(questions, problem, wrong);
  });
  return card;
}

/** A card for a call that cannot be answered here. Without `withdraw` it cannot be taken back either. */
export function plainCard(text, { withdraw }) {
  return element("div", { className: "questions" }, [
    element("p", {}, [text]),
    element("div", { className: "actions" }, withdraw ? [withdrawButton(withdraw)] : []),
  ]);
}

function withdrawButton(withdraw) {
  const button = element("button", { type: "button", className: "quiet" }, ["Take the call back"]);
  button.addEventListener("click", () => void withdraw());
  return button;
}

const actions = { accept: "Accept", decline: "Decline", cancel: "Cancel", send: "Send answers" };

function actionButton(action) {
  // Whoever declines fills in nothing.
  const formNoValidate = action === "decline" || action === "cancel";
  return element("button", { value: action, formNoValidate }, [actions[action]]);
}

/** One question: what it shows, and the answer that it has. */
function question(key, { params = {} }) {
  const { mode = "form", message = "", requestedSchema, url } = params;
  const required = new Set(requestedSchema?.required);
  const entries = mode === "form" ? Object.entries(requestedSchema?.properties ?? {}) : [];
  const fields = entries.map(([name, schema]) => ({
    name,
    ...formField(name, schema, required.has(name)),
  }));
  const inputs = element("fieldset", { className: "inputs" }, [
    ...fields.map(({ node }) => node),
    ...(mode === "url" ? [consent(url)] : []),
  ]);
  const choice = element("div", { className: "choices", role: "radiogroup", ariaLabel: message });
  const content = () =>
    Object.fromEntries(
      fields.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined),
    );
  return {
    key,
    fields,
    show: (isAlone) => {
      if (!isAlone) choice.append(...choices(mode, inputs));
      return element("section", { className: "question" }, [
        element("p", {}, [message]),
        inputs,
        choice,
      ]);
    },
    read: (action = choice.querySelector(":checked")?.value) =>
      action === "accept" && mode === "form" ? { action, content: content() } : { action },
  };
}

/** For one of several questions. Nobody consents to a URL by doing nothing. */
function choices(mode, inputs) {
  const name = crypto.randomUUID();
  return ["accept", "decline", "cancel"].map((action) => {
    const checked = action === "accept" && mode === "form";
    const radio = element("input", { type: "radio", name, value: action, checked, required: true });
    // What is disabled is not checked by the browser.
    if (mode === "form")
      radio.addEventListener("change", () => (inputs.disabled = action !== "accept"));
    return element("label", {}, [radio, actions[action]]);
  });
}

/** The whole URL, with its host set apart. It opens when the person clicks, and only then. */
function consent(url) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (!isWeb) return element("p", { className: "url" }, [`Not a web page: ${url}`]);
  return element("div", { className: "url" }, [
    element("p", {}, ["This page is at ", element("strong", {}, [parsed.host])]),
    element("code", {}, [url]),
    element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, [
      `Open the page at ${parsed.host}`,
    ]),
    element("small", {}, ["“Accept” means that you agree to go there, and not that you are done."]),
  ]);
}

/** Shows what is wrong beside the field that it is about. */
function showProblem(questions, problem, { field = "", message }) {
  const named = questions
    .flatMap(({ key, fields }) =>
      fields.map((each) => ({ at: `${key}.content.${each.name}`, each })),
    )
    .find(({ at }) => at === field)?.each;
  const text = named ? message.slice(field.length + 1) : message;
  if (named === undefined) {
    Object.assign(problem, { textContent: text, hidden: false });
    return;
  }
  const own =
    named.node.querySelector(".problem") ?? element("p", { className: "problem", role: "alert" });
  Object.assign(own, { textContent: text, hidden: false });
  named.node.append(own);
}
