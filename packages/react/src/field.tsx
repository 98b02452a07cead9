import { inputLimits, type QuestionField } from "@durable-mcp/core/waiting/form";
import { type ComponentProps, type ReactNode, useId } from "react";

/** A field, and what goes into its place. */
export interface FieldParts extends QuestionField {
  /** What is wrong with it, for the person. */
  readonly problem: string | undefined;
  /** For the `id` of the input, and `htmlFor` of its label. */
  readonly id: string;
  /** For the `id` of what describes the input. */
  readonly notesId: string;
  /** The input, or the check boxes, with the field's default filled in. */
  readonly input: ReactNode;
}

interface FieldProps {
  readonly field: QuestionField;
  readonly problem: string | undefined;
  readonly render?: ((parts: FieldParts) => ReactNode) | undefined;
}

/** One field of a server's form. */
export function Field({ field, problem, render = renderField }: FieldProps) {
  const id = useId();
  const notesId = `${id}-notes`;
  const common = {
    ...{ name: field.name, "aria-describedby": notesId },
    "aria-invalid": problem !== undefined,
  };
  const input =
    field.schema.type === "array" ? (
      <CheckBoxes field={field} common={common} />
    ) : (
      <Input field={field} common={{ ...common, id }} />
    );
  return render({ ...field, problem, id, notesId, input });
}

function renderField({ schema, title, isRequired, id, notesId, input, ...field }: FieldParts) {
  const label = isRequired ? `${title} *` : title;
  const notes = (
    <p id={notesId} data-part="notes">
      {field.description}
      {field.problem !== undefined && (
        <span data-part="problem" role="alert">
          {field.problem}
        </span>
      )}
    </p>
  );
  if (schema.type === "array") {
    return (
      <fieldset data-part="field" aria-describedby={notesId}>
        <legend>{label}</legend>
        {input}
        {notes}
      </fieldset>
    );
  }
  return (
    <div data-part="field">
      {schema.type === "boolean" ? (
        <label data-part="choice">
          {input} {label}
        </label>
      ) : (
        <>
          <label htmlFor={id}>{label}</label> {input}
        </>
      )}
      {notes}
    </div>
  );
}

interface InputProps {
  readonly field: QuestionField;
  readonly common: ComponentProps<"input"> & ComponentProps<"select">;
}

function CheckBoxes({ field: { schema, choices = [] }, common }: InputProps) {
  const given = schema.default;
  const isGiven = (value: string) => Array.isArray(given) && given.includes(value);
  return choices.map(({ value, title }) => (
    <label key={value} data-part="choice">
      <input {...common} type="checkbox" value={value} defaultChecked={isGiven(value)} />{" "}
      {title}{" "}
    </label>
  ));
}

function Input({ field, common }: InputProps) {
  const { schema, choices, isRequired: required } = field;
  const { type, default: given } = schema;
  if (type === "boolean") {
    return <input {...common} type="checkbox" defaultChecked={given === true} />;
  }
  const isText = typeof given === "string" || typeof given === "number";
  const defaultValue = isText ? given : undefined;
  if (choices) {
    return (
      <select {...common} required={required} defaultValue={defaultValue ?? ""}>
        <option value="">{required ? "Choose …" : "–"}</option>
        {choices.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    );
  }
  const limits = inputLimits(field);
  // In the zone of the browser, which a server that renders the page does not know.
  const fill = (input: HTMLInputElement | null) => {
    if (input) input.defaultValue = localTime(defaultValue);
  };
  const filled = limits.type === "datetime-local" ? { ref: fill } : { defaultValue };
  return <input {...common} {...limits} {...filled} required={required} />;
}

function localTime(value: string | number | undefined): string {
  const moment = new Date(value ?? Number.NaN);
  if (Number.isNaN(moment.getTime())) return "";
  const zoneMs = moment.getTimezoneOffset() * 60_000;
  return new Date(moment.getTime() - zoneMs).toISOString().slice(0, "2026-07-28T09:30".length);
}
