/** What a person reads at the end of a sign-in, or when there is none. */
export interface PageText {
  readonly title: string;
  readonly text: string;
}

const style = "body{font:1rem/1.5 system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem}";

/** A page of our own: no script, and nothing in it but these words. */
export async function page(status: number, { title, text }: PageText): Promise<Response> {
  const [name, words] = [escaped(title), escaped(text)];
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${name}</title><style>${style}</style><h1>${name}</h1><p>${words}</p></html>`;
  return new Response(html, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src '${await styleHash()}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
      "x-content-type-options": "nosniff",
      ...unseen,
    },
  });
}

/** Neither kept by a cache, nor told to the next page: the URL has a code or a state in it. */
const unseen = { "cache-control": "no-store", "referrer-policy": "no-referrer" };

export function redirect(url: URL): Response {
  return new Response(null, { status: 303, headers: { location: url.href, ...unseen } });
}

async function styleHash(): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(hash)))}`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!);
}
