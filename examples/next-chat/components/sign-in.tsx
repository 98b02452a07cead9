import type { WaitingAuthorization } from "@durable-mcp/core/waiting";

/** A call waits until the user has signed in. The link is the application's own, and holds no secret. */
export function SignIn({
  entry: { connection, server, scopes, startUrl },
}: {
  entry: WaitingAuthorization;
}) {
  return (
    <section className="card" aria-label={`Sign in to ${connection}`}>
      <h2>{connection} wants you to sign in</h2>
      <p>
        <small>
          {server}
          {scopes.length > 0 && `, for: ${scopes.join(", ")}`}
        </small>
      </p>
      <p>The chat goes on by itself afterwards, with what it was about to do.</p>
      <a className="button primary" href={startUrl}>
        Sign in
      </a>
    </section>
  );
}
