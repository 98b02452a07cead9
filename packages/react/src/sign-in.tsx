import type { WaitingAuthorization } from "@durable-mcp/core/waiting";
import { type ReactNode, useId } from "react";

/** A connection that waits for a sign-in. */
export interface SignInProps {
  /** Of the type `sign-in`. */
  readonly entry: WaitingAuthorization;
  readonly className?: string | undefined;
  /** Renders the card. @default English texts, plain elements with `data-part` */
  readonly children?: ((parts: SignInParts) => ReactNode) | undefined;
}

/** What a card for a sign-in is made of. */
export interface SignInParts {
  readonly entry: WaitingAuthorization;
  /** For the `id` of a heading: it names the card. */
  readonly headingId: string;
  /** For a link to your own route, where the sign-in starts. `undefined` unless it goes over HTTP. */
  readonly href: string | undefined;
}

/** A call waits until the user has signed in: a card without styles, with a link that the user clicks. */
export function SignIn({ entry, className, children = renderSignIn }: SignInProps) {
  const headingId = useId();
  const href = isHttp(entry.startUrl) ? entry.startUrl : undefined;
  return (
    <section aria-labelledby={headingId} data-part="sign-in" className={className}>
      {children({ entry, headingId, href })}
    </section>
  );
}

/** The route may be named by its path alone. */
function isHttp(url: string): boolean {
  const base = "https://own.invalid";
  return URL.canParse(url, base) && /^https?:$/.test(new URL(url, base).protocol);
}

function renderSignIn({ entry: { connection, server, scopes }, headingId, href }: SignInParts) {
  return (
    <>
      <h2 id={headingId}>{connection} wants you to sign in</h2>
      <p data-part="asker">
        {server}
        {scopes.length > 0 && `, for: ${scopes.join(", ")}`}
      </p>
      <p>The chat goes on by itself afterwards.</p>
      <a href={href}>Sign in</a>
    </>
  );
}
