import { createCookieJar } from "./cookie-jar.ts";

/** Somebody who signs in at the authorization servers of these tests. */
export interface User {
  /**
   * Opens a URL, signs in and consents wherever a page asks, and stops at the redirect to the callback URL.
   *
   * @returns the callback URL with its parameters, which is not requested
   */
  signIn: (url: string | URL, callbackUrl: string | URL) => Promise<URL>;
}

const maxPages = 20;

/**
 * A user without a browser: plain fetch, and cookies that last as long as the user. Several sign-ins at once are
 * several tabs, for which `oidc-provider` wants one of them to have gone before.
 *
 * @param use.login the account, which the server makes on the spot
 */
export function createScriptedUser({ login = "ada" }: { login?: string } = {}): User {
  const jar = createCookieJar();
  const answers: Record<string, string> = { login, password: "any" };
  return {
    signIn: async (url, callbackUrl) => {
      let next: URL = new URL(url);
      let form: URLSearchParams | undefined;
      for (let count = 0; count < maxPages; count += 1) {
        if (isCallback(next, callbackUrl)) return next;
        const response = await visit(next, form);
        const location = response.headers.get("location");
        if (location === null) {
          const page = await response.text();
          if (!response.ok) throw new Error(`The page says ${response.status}: ${inWords(page)}`);
          ({ next, form } = leave(page, next));
        } else {
          await response.body?.cancel();
          next = new URL(location, next);
          form = undefined;
        }
      }
      throw new Error(`The callback URL did not come within ${maxPages} pages.`);
    },
  };

  async function visit(url: URL, form: URLSearchParams | undefined): Promise<Response> {
    const response = await fetch(url, {
      redirect: "manual",
      ...(form && { method: "POST", body: form }),
      headers: { accept: "text/html", cookie: jar.cookiesFor(url) },
    });
    jar.keep(url, response);
    return response;
  }

  /** What the user sends from a page: its form. */
  function leave(page: string, at: URL): { next: URL; form: URLSearchParams | undefined } {
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (action === undefined) throw new Error(`The page has no form: ${inWords(page)}`);
    const form = new URLSearchParams();
    for (const [input] of page.matchAll(/<input[^>]*>/g)) {
      const name = / name="([^"]*)"/.exec(input)?.[1];
      const value = / value="([^"]*)"/.exec(input)?.[1] ?? "";
      if (name !== undefined) form.set(name, answers[name] ?? value);
    }
    return { next: new URL(action, at), form };
  }
}

function inWords(page: string): string {
  return page
    .replace(/<style.*?<\/style>/gs, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .slice(0, 300);
}

/** Whether a URL is that of the callback, parameters aside. */
function isCallback(url: URL, callbackUrl: string | URL): boolean {
  const callback = new URL(callbackUrl);
  return url.origin === callback.origin && url.pathname === callback.pathname;
}
