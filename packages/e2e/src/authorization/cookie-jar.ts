/** The cookies of one user, kept as a browser keeps them: each for its host, port included, and its path. */
export interface CookieJar {
  /** For a request to this URL, as the header has them. */
  cookiesFor: (url: URL) => string;
  keep: (url: URL, response: Response) => void;
}

export function createCookieJar(): CookieJar {
  const cookies = new Map<string, { host: string; path: string; pair: string }>();
  return {
    cookiesFor: ({ host, pathname }) =>
      [...cookies.values()]
        .filter((cookie) => cookie.host === host && isBelow(pathname, cookie.path))
        .map(({ pair }) => pair)
        .join("; "),
    keep: ({ host }, response) => {
      for (const cookie of response.headers.getSetCookie()) {
        const [pair = "", ...attributes] = cookie.split(/;\s*/);
        const attribute = (name: string) =>
          attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.split("=")[1];
        const path = attribute("path") ?? "/";
        const key = JSON.stringify([host, path, pair.split("=")[0]]);
        const expires = attribute("expires");
        if (expires !== undefined && Date.parse(expires) <= Date.now()) cookies.delete(key);
        else cookies.set(key, { host, path, pair });
      }
    },
  };
}

function isBelow(pathname: string, path: string): boolean {
  const folder = path.endsWith("/") ? path : `${path}/`;
  return pathname === path || pathname.startsWith(folder);
}
