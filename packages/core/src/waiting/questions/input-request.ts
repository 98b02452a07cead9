import { isRecord } from "../../base/json-values.ts";

/** A question about a secret, a payment or a login: a person answers it at a URL, not through the application. */
export interface UrlQuestion {
  readonly mode: "url";
  /** The reason why the server asks. */
  readonly message: string;
  /** The whole URL. Show it with its host, and never fetch it. */
  readonly url: string;
}

/** A question that a person answers in a form. */
export interface FormQuestion {
  /** @default "form" */
  readonly mode?: "form" | undefined;
  /** The reason why the server asks. */
  readonly message: string;
  readonly requestedSchema: FormSchema;
}

/** The flat JSON Schema of a form: an object whose properties are fields. */
export interface FormSchema {
  readonly $schema?: string | undefined;
  readonly type: "object";
  readonly properties: Readonly<Record<string, FormField>>;
  readonly required?: readonly string[] | undefined;
}

interface Field<TYPE, VALUE> {
  readonly type: TYPE;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** The value with which a form should start. */
  readonly default?: VALUE | undefined;
}

interface TextField extends Field<"string", string> {
  /** In characters. */
  readonly minLength?: number | undefined;
  /** In characters. */
  readonly maxLength?: number | undefined;
  readonly format?: "email" | "uri" | "date" | "date-time" | undefined;
}

interface NumberField extends Field<"number" | "integer", number> {
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

interface Choice {
  readonly const: string;
  readonly title: string;
}

interface OneOfField extends Field<"string", string> {
  readonly enum?: readonly string[] | undefined;
  /** The titles of the values of `enum`, in an older form of the specification. */
  readonly enumNames?: readonly string[] | undefined;
  readonly oneOf?: readonly Choice[] | undefined;
}

interface SomeOfField extends Field<"array", readonly string[]> {
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly items: {
    readonly type?: "string" | undefined;
    readonly enum?: readonly string[] | undefined;
    readonly anyOf?: readonly Choice[] | undefined;
  };
}

/** A field of a form: text, a number, yes or no, one of several values, or some of them. */
export type FormField =
  | (TextField & OneOfField)
  | NumberField
  | Field<"boolean", boolean>
  | SomeOfField;

/** A question for a person. A request without `mode` is a form. */
export interface ElicitationRequest {
  readonly method: "elicitation/create";
  readonly params: FormQuestion | UrlQuestion;
}

/**
 * A question of a server, as it was asked. A server that goes by the capabilities of a connection with `waiting` only
 * asks with `elicitation/create`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export type InputRequest =
  | ElicitationRequest
  | {
      readonly method: "sampling/createMessage" | "roots/list";
      readonly params?: Readonly<Record<string, unknown>> | undefined;
    };

/** The questions of one round under the server's keys. Read own keys only: they are the server's. */
export type InputRequests = Readonly<Record<string, InputRequest>>;

export function areRequests(value: unknown): value is InputRequests {
  return (
    isRecord(value) &&
    Object.values(value).every((one) => isRecord(one) && typeof one["method"] === "string")
  );
}

/**
 * What a person said. `accept` has `content` for a form and none for a URL, where it means consent and not that the
 * work at the URL is done.
 */
export type InputResponse =
  | { readonly action: "accept"; readonly content?: object | undefined }
  | { readonly action: "decline" | "cancel" };

/** An answer for each question, under the key of the question. */
export type InputResponses = Readonly<Record<string, InputResponse>>;

/** Applications make links of the URLs: a link can have a script in it, or a user name that looks like another host. */
export function isSafeQuestion({ params }: { readonly params?: unknown }): boolean {
  if (!isRecord(params) || params["mode"] !== "url") return true;
  const { url } = params;
  const isUrl = typeof url === "string" && URL.canParse(url);
  return isUrl && /^https?:\/\/[^/@]+\//.test(new URL(url).href);
}

/** The code of a server's refusal of a call until a person has been at a URL. */
export const urlElicitationRequired = -32_042;

/**
 * The URLs to which a server sends a person before it carries a request out; `undefined` for any other error.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
export function urlsWanted(error: unknown) {
  const { code, data } = (error ?? {}) as { readonly code?: unknown; readonly data?: unknown };
  const { elicitations } = isRecord(data) ? data : {};
  if (code !== urlElicitationRequired || !Array.isArray(elicitations)) return undefined;
  const asked = elicitations.filter(isUrlQuestion);
  if (asked.length === 0 || asked.length < elicitations.length) return undefined;
  const requests = asked.map((params, place): [string, ElicitationRequest] => {
    const { elicitationId } = params as { readonly elicitationId?: string };
    return [elicitationId ?? String(place), { method: "elicitation/create", params }];
  });
  return { requests: Object.fromEntries(requests), isRefused: true } as const;
}

function isUrlQuestion(params: unknown): params is UrlQuestion {
  const isUrl = isRecord(params) && params["mode"] === "url";
  return isUrl && typeof params["message"] === "string" && isSafeQuestion({ params });
}
