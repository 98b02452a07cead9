import type { Operator } from "../../src/studio.ts";

const unescape = (text: string) =>
  text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

const valuesIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, value = ""]) => unescape(value));

interface ShownPage {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly title: string | undefined;
  readonly alerts: string[];
  /** What the page says, without its markup. */
  readonly words: string;
  readonly links: string[];
  readonly buttons: string[];
  readonly values: string[];
  /** Sends the form of that number. */
  submit(
    fields: Record<string, string>,
    number?: number,
    headers?: HeadersInit,
  ): Promise<ShownPage>;
}

/** A browser without scripts, of one operator. It follows redirects, and sends forms as they are on the page. */
export function openBrowser(
  studio: (request: Request) => Promise<Response>,
  origin = "http://localhost:3000",
) {
  const place = `${origin}/under/studio`;
  const ask = async (address: string, init: RequestInit = {}): Promise<ShownPage> => {
    const response = await studio(new Request(new URL(address, place), init));
    const to = response.headers.get("location");
    return to === null ? await read(response) : await get(to);
  };
  const read = async (response: Response): Promise<ShownPage> => {
    const text = await response.text();
    const forms = text.split("<form ").slice(1);
    return {
      ...{ status: response.status, headers: response.headers, text },
      title: valuesIn(text, /<h1>(.*?)<\/h1>/g)[0],
      alerts: valuesIn(text, /role="alert">(.*?)</g),
      words: unescape(text.replaceAll(/<style.*?<\/style>/gs, "").replaceAll(/<[^>]*>/g, " ")),
      links: valuesIn(text, /<a href="(.*?)"/g),
      buttons: valuesIn(text, /<button[^>]* value="(\w+)"/g),
      values: valuesIn(text, / value="(.*?)"/g),
      async submit(fields, number = 0, headers = { origin }) {
        const form = (forms.filter((each) => each.startsWith('method="post"'))[number] ?? "").split(
          "</form>",
        )[0]!;
        const hidden = [...form.matchAll(/type="hidden" name="(.*?)" value="(.*?)"/g)];
        const given = hidden.map(([, name, value]) => [unescape(name!), unescape(value!)]);
        const body = new URLSearchParams({ ...Object.fromEntries(given), ...fields });
        const action = valuesIn(form, /action="(.*?)"/g)[0] ?? "";
        return await ask(action, { method: "POST", body, headers });
      },
    };
  };
  const get = async (address: string, headers: HeadersInit = {}) => await ask(address, { headers });
  return { get };
}

export const operator = (name: string, ...may: Operator["may"]): Operator => ({ name, may });
