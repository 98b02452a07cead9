import { markup, Html, type Part } from "./markup.ts";

/** What a page shows. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  /** @default 200 */
  readonly status?: number;
  /** Whether somebody fills in a form, which a reload would empty. */
  readonly hasForm?: boolean;
}

/** An address within the studio: its pages differ in their query alone, so it works wherever it is mounted. */
export function address(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams(given as [string, string][])}`;
}

export function link(query: Parameters<typeof address>[0], text: Part): Html {
  return markup`<a href="${address(query)}">${text}</a>`;
}

/** A table, for rows of cells; without rows a sentence. It scrolls by itself where a window is narrow. */
export function table(
  label: string,
  head: readonly string[],
  rows: readonly (readonly Part[])[],
  none: string,
) {
  if (rows.length === 0) return markup`<p>${none}</p>`;
  return markup`<div class="wide" role="region" aria-label="${label}" tabindex="0"><table><thead><tr>${head.map((title) => markup`<th scope="col">${title}</th>`)}</tr></thead><tbody>${rows.map(
    (row) => markup`<tr>${row.map((cell) => markup`<td>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** A moment, in UTC: a page without scripts does not know the zone of its reader. */
export function moment(time: number | undefined, now: number): Part {
  if (time === undefined || !Number.isFinite(new Date(time).getTime())) return "–";
  const iso = new Date(time).toISOString();
  const far = age(Math.abs(now - time));
  const words = time > now ? `in ${far}` : `${far} ago`;
  return markup`<time datetime="${iso}" title="${iso.slice(0, 16).replace("T", " ")} UTC">${words}</time>`;
}

export function age(ms: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
  ] as const;
  const [unit, length] = units.find(([, each]) => ms >= each) ?? ["s", 1_000];
  return `${Math.floor(ms / length)} ${unit}`;
}

const pages = [
  ["Chats", "chats"],
  ["What waits", "waits"],
  ["Sign-ins", "sign-ins"],
] as const;
/** A page of one sentence. */
export function says(title: string, text: string, status: number): Page {
  return { title, status, body: markup`<p role="alert">${text}</p>` };
}

/** In seconds. */
const reloadAfter = 5;

/** The answer with a page. It runs no script, loads nothing, and stands in no frame. */
export function respond(page: Page, query: URLSearchParams, operator?: string): Response {
  const nonce = crypto.randomUUID();
  const isFollowing = query.has("follow") && !page.hasForm;
  const here = Object.fromEntries(query);
  const current = here["page"] ?? "chats";
  const follow = isFollowing
    ? link({ ...here, follow: undefined }, "Stop reloading")
    : link({ ...here, follow: "1" }, `Reload every ${reloadAfter} seconds`);
  const item = ([title, name]: (typeof pages)[number]) =>
    markup`<li>${
      name === current
        ? markup`<a href="${address({ page: name })}" aria-current="page">${title}</a>`
        : link({ page: name }, title)
    }</li>`;
  const text = markup`<!doctype html><html lang="en"><head><meta charset="utf-8" /><title>${page.title} – studio</title><meta name="viewport" content="width=device-width, initial-scale=1" /><meta name="color-scheme" content="light dark" /><link rel="icon" href="data:," />${isFollowing && markup`<meta http-equiv="refresh" content="${reloadAfter}" />`}<style nonce="${nonce}">${new Html(style)}</style></head><body>${
    operator !== undefined &&
    markup`<header><nav aria-label="Studio"><ul>${pages.map(item)}</ul></nav><p>${operator}</p></header>`
  }<main><h1>${page.title}</h1>${page.body}</main>${operator !== undefined && !page.hasForm && markup`<footer><p>${follow}</p></footer>`}</body></html>`;
  return new Response(text.text, {
    status: page.status ?? 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      // Without any, a form of ours would not say where it is from.
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
    },
  });
}

const style = `
:root{color-scheme:light dark;--line:light-dark(#d4d4d8,#3f3f46);--soft:light-dark(#52525b,#a1a1aa);--accent:light-dark(#1d4ed8,#93c5fd);--bad:light-dark(#b91c1c,#fca5a5);--box:light-dark(#f4f4f5,#27272a)}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:light-dark(#18181b,#f4f4f5);background:light-dark(#fff,#18181b);overflow-wrap:anywhere}
header,nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;align-items:baseline}
header{justify-content:space-between;border-bottom:1px solid var(--line)}
nav ul{list-style:none;margin:0;padding:0}
a{color:var(--accent)}a[aria-current]{font-weight:600;color:inherit;text-decoration:none}
h1{font-size:1.4rem;margin:1rem 0 .5rem}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}h3{font-size:1rem;margin:0}
header p,footer,.soft,.notes{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:start;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);min-width:6rem;unicode-bidi:isolate}
th{font-weight:600;white-space:nowrap}
article,.notice{border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:.75rem 0}
.notice{background:var(--box)}.problem{color:var(--bad);font-weight:600}
fieldset{border:0;min-width:0;border-inline-start:3px solid var(--line);margin:.75rem 0;padding:0 0 0 .75rem}legend{font-weight:600;padding:0;max-width:100%}
label,input,select{display:block;font:inherit;max-width:100%}label{margin-top:.6rem}
.choice{display:flex;gap:.5rem;align-items:baseline}
input:not([type=checkbox]),select{width:24rem;padding:.35rem .5rem;color:inherit;background:transparent;border:1px solid light-dark(#71717a,#a1a1aa);border-radius:.25rem}
option{color:#18181b;background:#fff}[aria-invalid=true]{outline:2px solid var(--bad)}
button{font:inherit;padding:.35rem .9rem;border:1px solid light-dark(#71717a,#a1a1aa);border-radius:.25rem;background:var(--box);color:inherit;cursor:pointer}
.notes,.problem{margin:.15rem 0}.actions,.find{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}.find label{margin:0}.find>div{flex:0 1 24rem;min-width:0}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`;
