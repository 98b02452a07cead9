import type { InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import {
  acceptRequest,
  type QuestionUrl,
  type ReadRequest,
  readRequest,
} from "@durable-mcp/core/waiting/form";
import {
  type ComponentProps,
  type FormEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Field, type FieldParts } from "./field.tsx";

/** Why an answer did not reach its server. */
export interface AnswerProblem {
  /** For the person. */
  readonly message: string;
  /** The field that is wrong, such as `delivery.content.time`: `data.field` of `INPUT_INVALID`. */
  readonly field?: string | undefined;
}

/** The props of a button. While an answer is on its way it does nothing, and keeps the focus. */
export type PendingButton = Pick<
  ComponentProps<"button">,
  "type" | "value" | "formNoValidate" | "onClick" | "aria-disabled"
>;

type Sent = Promise<AnswerProblem | undefined | void>;

/** A waiting call, and what to do with a person's decision. */
export interface QuestionProps {
  /** Of the type `question`. */
  readonly call: WaitingCall;
  /**
   * Sends the answers, for `sessions.answer` on your server, and then refreshes what waits. `call.round` goes with
   * them, so that an old page cannot answer a newer question. It resolves with what is wrong, or with nothing.
   */
  readonly onAnswer: (responses: InputResponses, call: WaitingCall) => Sent;
  /** Takes the call back, with `sessions.withdraw`. @default the person cannot */
  readonly onWithdraw?: ((call: WaitingCall) => Sent) | undefined;
  readonly className?: string | undefined;
  /** Renders what is in the form. @default English texts, plain elements with `data-part` */
  readonly children?: ((parts: QuestionParts) => ReactNode) | undefined;
  /** Renders a field. @default a label, the input, a description, a problem */
  readonly renderField?: ((parts: FieldParts) => ReactNode) | undefined;
  /** Renders the link to the page at which a person answers. Show its host apart from the rest of the address. */
  readonly renderUrl?: ((url: QuestionUrl) => ReactNode) | undefined;
}

/** What a form is made of. */
export interface QuestionParts {
  readonly call: WaitingCall;
  /** For the `id` of a heading: it names the form. */
  readonly headingId: string;
  /** Each question in a `fieldset`. */
  readonly questions: ReactNode;
  /** What is wrong, unless a field says it. */
  readonly problem: ReactNode;
  /** `undefined` if a question cannot be answered here. Let it be the first button: the Enter key presses it. */
  readonly acceptButton: PendingButton | undefined;
  readonly declineButton: PendingButton;
  /** `undefined` without `onWithdraw`. */
  readonly withdrawButton: PendingButton | undefined;
}

/**
 * The questions of a waiting call, as a form without styles. All words of the server are shown as text. Nothing is
 * fetched, and no page is opened unless the person clicks. Key it by `call.id`: what is filled in stays until the next
 * round. After an answer, what takes the form's place has the focus; after a problem, the field that is wrong.
 */
export function Question({ className, ...props }: QuestionProps) {
  const { round, state } = props.call;
  const place = useRef<HTMLDivElement>(null);
  const answered = useRef<WaitingCall>(undefined);
  useEffect(() => {
    const before = answered.current;
    if (!before || (before.round === round && before.state === state)) return;
    // Not if the person is busy elsewhere by now.
    const isFree = document.activeElement === document.body;
    if (isFree) place.current?.querySelector<HTMLElement>("[tabindex]")?.focus();
    if (state !== "answering") answered.current = undefined;
  }, [round, state]);
  const onSubmit = () => void (answered.current = props.call);
  return (
    <div {...{ ref: place, className, onSubmit }} data-part="question">
      {state === "answering" ? (
        <p data-part="status" role="status" tabIndex={-1}>
          The answer is on its way …
        </p>
      ) : (
        <QuestionForm key={round} {...props} />
      )}
    </div>
  );
}

function QuestionForm({ children = renderQuestion, ...props }: Omit<QuestionProps, "className">) {
  const { call, onAnswer, onWithdraw, renderField, renderUrl = renderLink } = props;
  const headingId = useId();
  const form = useRef<HTMLFormElement>(null);
  const { isPending, problem, act } = useAnswer();
  const requests = Object.entries(call.requests).map(([key, value]) => readRequest(key, value));
  useEffect(() => {
    if (problem) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [problem]);

  const answer = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { submitter } = event.nativeEvent as SubmitEvent;
    const action = submitter?.getAttribute("value");
    if (action !== "accept" && action !== "decline") return;
    const data = new FormData(event.currentTarget);
    const responses = requests.map((request) => [
      request.key,
      action === "accept" ? acceptRequest(request, data) : { action },
    ]);
    void act(() => onAnswer(Object.fromEntries(responses) as InputResponses, call));
  };
  const parts = { renderField, renderUrl, problem };
  const button = { "aria-disabled": isPending };
  const fields = requests.flatMap((request) => (request.mode === "form" ? request.fields : []));
  const canAnswer = requests.every(({ mode }) => mode !== "none");
  return (
    <form ref={form} tabIndex={-1} aria-labelledby={headingId} onSubmit={answer}>
      {children({
        ...{ call, headingId },
        questions: requests.map((request) => (
          <Request key={request.key} request={request} {...parts} />
        )),
        problem: problem && !fields.some(({ path }) => path === problem.field) && (
          <p data-part="problem" role="alert">
            {problem.message}
          </p>
        ),
        acceptButton: canAnswer ? { ...button, type: "submit", value: "accept" } : undefined,
        declineButton: { ...button, type: "submit", value: "decline", formNoValidate: true },
        withdrawButton: onWithdraw && {
          ...{ ...button, type: "button" },
          onClick: () => void act(() => onWithdraw(call)),
        },
      })}
    </form>
  );
}

/** Does one thing at a time. What it throws is a problem, as is what it resolves with. */
function useAnswer() {
  const [{ isPending, problem }, set] = useState<Attempt>({ isPending: false });
  const act = async (action: () => Sent) => {
    if (isPending) return;
    // Without the problem: the same one is announced again.
    set({ isPending: true });
    const found = await Promise.resolve()
      .then(action)
      .catch((error) => ({ message: String(Object(error).message ?? error) }));
    set({ isPending: false, problem: found ?? undefined });
  };
  return { isPending, problem, act };
}

interface Attempt {
  readonly isPending: boolean;
  readonly problem?: AnswerProblem | undefined;
}

function renderQuestion({
  call,
  headingId,
  questions,
  problem,
  acceptButton,
  declineButton,
  withdrawButton,
}: QuestionParts) {
  return (
    <>
      <h2 id={headingId}>{call.connection} asks you</h2>
      <p data-part="asker">
        {call.server} needs this for <code>{call.tool}</code>
      </p>
      {questions}
      {problem}
      <p data-part="actions">
        {acceptButton && <button {...acceptButton}>Accept</button>}{" "}
        <button {...declineButton}>Decline</button>{" "}
        {withdrawButton && <button {...withdrawButton}>Take the call back</button>}
      </p>
    </>
  );
}

interface RequestProps extends Pick<QuestionProps, "renderField"> {
  readonly request: ReadRequest;
  readonly renderUrl: (url: QuestionUrl) => ReactNode;
  readonly problem: AnswerProblem | undefined;
}

function Request({ request, problem, renderField, renderUrl }: RequestProps) {
  return (
    <fieldset>
      <legend>{request.message}</legend>
      {request.mode === "none" && <p>This question cannot be answered here.</p>}
      {request.mode === "url" && renderUrl(request.url)}
      {request.mode === "form" &&
        request.fields.map((field) => {
          const own = problem?.field === field.path ? problem.message : undefined;
          return <Field key={field.name} field={field} problem={own} render={renderField} />;
        })}
    </fieldset>
  );
}

function renderLink({ href, scheme, host, rest }: QuestionUrl) {
  return (
    <p data-part="url">
      <a href={href} target="_blank" rel="noopener noreferrer">
        Open the page at <strong>{host}</strong>
      </a>
      <span data-part="address">
        {scheme}
        <strong>{host}</strong>
        <span>{rest}</span>
      </span>
    </p>
  );
}
