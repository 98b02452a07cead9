// Inputs for the fields of a server's form (a flat JSON Schema). The server's texts are only shown as texts.
import { element } from "./element.js";

/**
 * An input for one field, with its default filled in.
 *
 * @returns its element, and `read`, which gives the value; `undefined` leaves the field out
 */
export function formField(name, schema, isRequired) {
  const input = inputFor(schema, isRequired);
  const title = schema.title ?? name;
  const label = element(input.isGroup ? "fieldset" : "label", { className: "field" }, [
    element(input.isGroup ? "legend" : "span", {}, [isRequired ? `${title} *` : title]),
    input.node,
    ...(schema.description ? [element("small", {}, [schema.description])] : []),
  ]);
  label.dataset.field = name;
  return { node: label, read: input.read };
}

function inputFor(schema, isRequired) {
  if (schema.type === "boolean") return checkbox(schema, isRequired);
  if (schema.type === "array") return checkboxes(schema);
  if (schema.type === "number" || schema.type === "integer") return numberInput(schema, isRequired);
  const choices = choicesOf(schema);
  return choices ? select(choices, schema, isRequired) : textInput(schema, isRequired);
}

/** The values to choose from, with their titles. */
function choicesOf({ oneOf, anyOf, enum: values, enumNames }) {
  const titled = oneOf ?? anyOf;
  if (titled) return titled.map(({ const: value, title }) => ({ value, title: title ?? value }));
  return values?.map((value, index) => ({ value, title: enumNames?.[index] ?? value }));
}

function checkbox({ default: given }, isRequired) {
  const node = element("input", { type: "checkbox", checked: given === true });
  let isTouched = false;
  node.addEventListener("change", () => (isTouched = true));
  const isSaid = () => isRequired || given !== undefined || isTouched;
  return { node, read: () => (isSaid() ? node.checked : undefined) };
}

function checkboxes({ items, default: given = [] }) {
  const boxes = (choicesOf(items) ?? []).map(({ value, title }) => ({
    value,
    title,
    box: element("input", { type: "checkbox", checked: given.includes(value) }),
  }));
  const labels = boxes.map(({ box, title }) => element("label", {}, [box, title]));
  const node = element("div", { className: "choices" }, labels);
  const read = () => boxes.filter(({ box }) => box.checked).map(({ value }) => value);
  return { node, read, isGroup: true };
}

function select(choices, { default: given }, isRequired) {
  const options = choices.map(({ value, title }) => element("option", { value }, [title]));
  const none = element("option", { value: "" }, [isRequired ? "Choose …" : "–"]);
  const node = element("select", { required: isRequired }, [none, ...options]);
  const chosen = choices.findIndex(({ value }) => value === given) + 1;
  node.selectedIndex = chosen;
  // By its place, for a value may be the empty text.
  return { node, read: () => choices[node.selectedIndex - 1]?.value };
}

function numberInput({ type, minimum, maximum, default: given }, isRequired) {
  const step = type === "integer" ? "1" : "any";
  const node = element("input", { type: "number", step, required: isRequired });
  Object.assign(node, { min: minimum ?? "", max: maximum ?? "", value: given ?? "" });
  return { node, read: () => (node.value === "" ? undefined : node.valueAsNumber) };
}

const inputTypes = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

function textInput({ format, minLength, maxLength, default: given = "" }, isRequired) {
  const type = Object.hasOwn(inputTypes, format ?? "") ? inputTypes[format] : "text";
  const node = element("input", { type, required: isRequired });
  if (minLength !== undefined) node.minLength = minLength;
  if (maxLength !== undefined) node.maxLength = maxLength;
  const isMoment = format === "date-time";
  node.value = isMoment && given !== "" ? localMoment(given) : given;
  const read = () => (isMoment ? new Date(node.value).toISOString() : node.value);
  return { node, read: () => (node.value === "" && !isRequired ? undefined : read()) };
}

/** `2026-11-22T09:30Z` as a clock here shows it. */
function localMoment(text) {
  const moment = new Date(text);
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? "" : local.toISOString().slice(0, 16);
}
