import type { FormField as Schema } from "@durable-mcp/core/waiting";
import { useId } from "react";
import { choicesOf } from "../lib/read-field";

interface FormFieldProps {
  /** In the form's data. */
  name: string;
  title: string;
  schema: Schema;
  isRequired: boolean;
  problem: string | undefined;
}

/** One input of a server's form, with its default filled in. */
export function FormField({ name, title, schema, isRequired, problem }: FormFieldProps) {
  const id = useId();
  const { description } = schema;
  const notes = `${id}-notes`;
  const label = isRequired ? `${title} *` : title;
  const input = { id, name, "aria-describedby": notes, "aria-invalid": problem !== undefined };
  const below = (
    <p id={notes} className="notes">
      {description}
      {problem && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
    </p>
  );
  if (schema.type === "array") {
    return (
      <fieldset className="field" aria-describedby={notes}>
        <legend>{label}</legend>
        {choicesOf(schema)?.map((choice) => (
          <label key={choice.value} className="choice">
            <input
              type="checkbox"
              name={name}
              value={choice.value}
              defaultChecked={schema.default?.includes(choice.value)}
            />
            {choice.title}
          </label>
        ))}
        {below}
      </fieldset>
    );
  }
  if (schema.type === "boolean") {
    return (
      <div className="field">
        <label className="choice">
          <input {...input} type="checkbox" defaultChecked={schema.default} />
          {label}
        </label>
        {below}
      </div>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Input {...input} schema={schema} required={isRequired} />
      {below}
    </div>
  );
}

interface InputProps {
  id: string;
  name: string;
  schema: Exclude<Schema, { type: "boolean" | "array" }>;
  required: boolean;
}

function Input({ schema, ...input }: InputProps) {
  const choices = choicesOf(schema);
  if (choices) {
    return (
      <select {...input} defaultValue={schema.default ?? ""}>
        <option value="">{input.required ? "Choose …" : "–"}</option>
        {choices.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    );
  }
  if (schema.type !== "string") {
    const step = schema.type === "integer" ? 1 : "any";
    return (
      <input
        {...input}
        {...{ type: "number", step, min: schema.minimum, max: schema.maximum }}
        defaultValue={schema.default}
      />
    );
  }
  const type = schema.format ? inputTypes[schema.format] : "text";
  const lengths = { minLength: schema.minLength, maxLength: schema.maxLength };
  return <input {...input} {...lengths} type={type} defaultValue={schema.default} />;
}

const inputTypes = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
