import type { InputRequest, InputResponse, WaitingCall } from "@durable-mcp/core/waiting";
import { useRouter } from "next/navigation";
import { type FormEvent, useId, useState, useTransition } from "react";
import { answerQuestion, type Problem, withdrawCall } from "../app/chat/[id]/actions";
import { FormField } from "./form-field";
import { readField } from "../lib/read-field";

interface QuestionProps {
  chat: string;
  call: WaitingCall;
}

/** The questions of one call. All words in it are the server's: they are shown as text, and nothing is fetched. */
export function Question({ chat, call }: QuestionProps) {
  const router = useRouter();
  const heading = useId();
  const [problem, setProblem] = useState<Problem>();
  const [isPending, startTransition] = useTransition();
  const requests = Object.entries(call.requests);

  const act = (action: () => Promise<Problem | undefined>) =>
    startTransition(async () => {
      setProblem(await action());
      router.refresh();
    });
  const answer = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { submitter } = event.nativeEvent as SubmitEvent;
    const action = submitter instanceof HTMLButtonElement ? submitter.value : "";
    if (action !== "accept" && action !== "decline") return;
    const form = new FormData(event.currentTarget);
    const responses = requests.map(([key, request]): [string, InputResponse] => [
      key,
      action === "accept" ? accept(key, request, form) : { action },
    ]);
    act(() => answerQuestion(chat, call.id, call.round, Object.fromEntries(responses)));
  };

  if (call.state === "answering") return <p className="working">The answer is on its way …</p>;
  return (
    <form className="card" aria-labelledby={heading} onSubmit={answer}>
      <h2 id={heading}>{call.connection} asks you</h2>
      <p>
        <small>
          {call.server} needs this for <code>{call.tool}</code>
        </small>
      </p>
      {requests.map(([key, request]) => (
        <Request key={key} name={key} request={request} problem={problem} />
      ))}
      {problem && !isField(problem, requests) && (
        <p className="problem" role="alert">
          {problem.message}
        </p>
      )}
      <div className="actions">
        <button className="primary" value="accept" disabled={isPending}>
          Accept
        </button>
        <button value="decline" formNoValidate disabled={isPending}>
          Decline
        </button>
        <button
          type="button"
          className="quiet"
          disabled={isPending}
          onClick={() => act(() => withdrawCall(chat, call.id))}
        >
          Take the call back
        </button>
      </div>
    </form>
  );
}

interface RequestProps {
  name: string;
  request: InputRequest;
  problem: Problem | undefined;
}

function Request({ name, request, problem }: RequestProps) {
  if (request.method !== "elicitation/create") return <p>This question cannot be shown.</p>;
  const { params } = request;
  if (params.mode === "url") {
    return (
      <fieldset>
        <legend>{params.message}</legend>
        <p>
          <a href={params.url} target="_blank" rel="noopener noreferrer">
            Open the page at <strong>{new URL(params.url).host}</strong>
          </a>
          <br />
          <small className="url">{params.url}</small>
        </p>
      </fieldset>
    );
  }
  const { properties, required = [] } = params.requestedSchema;
  return (
    <fieldset>
      <legend>{params.message}</legend>
      {Object.entries(properties).map(([field, schema]) => {
        const path = `${name}.content.${field}`;
        return (
          <FormField
            key={field}
            name={path}
            title={schema.title ?? field}
            schema={schema}
            isRequired={required.includes(field)}
            problem={problem?.field === path ? problem.message : undefined}
          />
        );
      })}
    </fieldset>
  );
}

/** Consent to a URL has no content. Optional fields that are empty are left out. */
function accept(key: string, request: InputRequest, form: FormData): InputResponse {
  if (request.method !== "elicitation/create" || request.params.mode === "url") {
    return { action: "accept" };
  }
  const { properties, required = [] } = request.params.requestedSchema;
  const content = Object.entries(properties)
    .map(([field, schema]) => {
      const isRequired = required.includes(field);
      return [field, readField(form, `${key}.content.${field}`, schema, isRequired)] as const;
    })
    .filter(([, value]) => value !== undefined);
  return { action: "accept", content: Object.fromEntries(content) };
}

function isField({ field }: Problem, requests: readonly [string, InputRequest][]): boolean {
  return requests.some(([key, { method, params }]) => {
    const fields =
      method === "elicitation/create" && params.mode !== "url"
        ? Object.keys(params.requestedSchema.properties)
        : [];
    return fields.some((name) => field === `${key}.content.${name}`);
  });
}
