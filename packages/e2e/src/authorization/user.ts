/** Somebody who signs in at the authorization servers of these tests. */
export interface User {
  /**
   * Opens a URL, signs in and consents wherever a page asks, and stops at the redirect to the callback URL.
   *
   * @returns the callback URL with its parameters, which is not requested
   */
  signIn: (url: string | URL, callbackUrl: string | URL) => Promise<URL>;
}

export interface UserOptions {
  /** The account, which the server makes on the spot. @default "ada" */
  readonly login?: string;
  /** Cancels instead, at the first page. @default false */
  readonly cancels?: boolean;
}

/** Whether a URL is that of the callback, parameters aside. */
export function isCallback(url: URL, callbackUrl: string | URL): boolean {
  const callback = new URL(callbackUrl);
  return url.origin === callback.origin && url.pathname === callback.pathname;
}
