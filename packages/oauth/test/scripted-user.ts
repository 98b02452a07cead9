const maxPages = 20;

/**
 * What a user's browser does from an authorization URL to the callback: it logs in and consents, or cancels. Plain
 * `fetch`, with a cookie jar.
 */
export async function signInByHand(
  start: URL,
  redirectUrl: string,
  does: "consent" | "cancel" = "consent",
  login = "ada",
): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    if (url.href.startsWith(redirectUrl)) return url;
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      ...(form !== undefined && { body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";", 1)[0]!.split(/=(.*)/s);
      cookies.set(name!, value!);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
    } else {
      ({ url, form } = leavePage(text, url, does, login));
    }
  }
  throw new Error(`No callback within ${maxPages} pages.`);
}

/** What the user sends from a page: its form, or the link away from it. */
function leavePage(html: string, at: URL, does: "consent" | "cancel", login: string) {
  const link = /href="([^"]+\/abort)"/.exec(html)?.[1];
  if (does === "cancel" && link !== undefined) return { url: new URL(link, at), form: undefined };
  const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
  if (action === undefined) {
    throw new Error(`The page has no form: ${html.replaceAll(/<[^>]*>|\s+/g, " ").slice(0, 500)}`);
  }
  const form = new URLSearchParams({ login, password: "any" });
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const [, name] = / name="([^"]*)"/.exec(input) ?? [];
    const [, value] = / value="([^"]*)"/.exec(input) ?? [];
    if (name !== undefined) form.set(name, value ?? "");
  }
  return { url: new URL(action, at), form };
}
