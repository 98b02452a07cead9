import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { SignInRefusal } from "../base/oauth-event.ts";
import { checkOwner } from "../base/token-owner.ts";
import type { OAuthContext } from "../grants/oauth-context.ts";
import type { OAuthOptions } from "../oauth-options.ts";
import { resourceIdOf } from "../records/resource-id.ts";
import { finishSignIn } from "./callback.ts";
import { nextPlace } from "./next-place.ts";
import { page, type PageText, redirect } from "./page.ts";
import { startSignIn } from "./start.ts";

/** Whose browser it is, and the server to sign in to. */
export interface StartUse {
  readonly principal: Principal;
  /** Your name of the server. @default the link's, or the host of `url` */
  readonly connection?: string | undefined;
  /** The URL of the MCP server. @default the link's */
  readonly url?: string | URL | undefined;
  /** The agent session that goes on after the sign-in. @default the link's, or the one that met the refusal last */
  readonly sessionId?: string | undefined;
  /**
   * Where the user goes afterwards, in place of `onSignedIn`: an http or https URL, or a path of the application; all else
   * is `CONNECTION_INVALID`. If the sign-in fails, it gets a parameter `error`: `access_denied` or `sign_in_failed`. Never
   * take it from a request.
   */
  readonly returnUrl?: string | URL | undefined;
  /** For a client that sends no proofs: the tokens are not bound to a key, unless `dpop` is "required". @default false */
  readonly isBearer?: boolean | undefined;
}

interface RoutesOptions {
  readonly redirectUrl: URL;
  readonly onSignedIn: OAuthOptions["onSignedIn"];
}

/** The two routes of an application. Their answers are for browsers, and never reject for what a user did. */
export function createRoutes(context: OAuthContext, { redirectUrl, onSignedIn }: RoutesOptions) {
  const { emit, startUrl } = context;
  const routes = {
    async handler(request: Request, use: StartUse): Promise<Response> {
      const { pathname } = new URL(request.url);
      if (pathname === redirectUrl.pathname) return await routes.callback(request, use);
      if (pathname === startUrl.pathname) return await routes.start(request, use);
      emit({ type: "unknown-path", paths: [startUrl.pathname, redirectUrl.pathname] });
      return await page(404, notOpened);
    },
    async start(
      request: Request,
      { principal, returnUrl, isBearer, ...use }: StartUse,
    ): Promise<Response> {
      checkOwner(principal);
      const next = returnUrl && nextPlace(returnUrl, "returnUrl", redirectUrl);
      if (!["GET", "POST"].includes(request.method)) return await page(405, notOpened);
      const link = new URL(request.url).searchParams;
      const target = await targetOf(context, link, principal, use);
      if (target === undefined) return await page(404, nothingToSignIn);
      const { connection } = target;
      try {
        const authorizationUrl = await startSignIn(context, {
          ...{ principal, redirectUrl, ...target, isBearer, chat: link.get("chat") },
          returnUrl: next || undefined,
        });
        return redirect(authorizationUrl);
      } catch (error) {
        const known = knownError(error);
        emit({ type: "sign-in-refused", reason: "not-started", connection, error: known });
        return await page(502, texts["not-started"]);
      }
    },
    async callback(
      request: Request,
      { principal }: { readonly principal: Principal },
    ): Promise<Response> {
      checkOwner(principal);
      // Previews of links send a HEAD, for which frameworks call the function for GET. It would use up the state.
      if (request.method !== "GET") return await page(405, notOpened);
      let outcome: Awaited<ReturnType<typeof finishSignIn>>;
      try {
        outcome = await finishSignIn(context, principal, new URL(request.url));
      } catch (error) {
        emit({ type: "sign-in-refused", reason: "not-exchanged", error: knownError(error) });
        return await page(502, texts["not-exchanged"]);
      }
      if (outcome.type === "refused") {
        const { type: _, returnUrl, ...why } = outcome;
        emit({ type: "sign-in-refused", ...why });
        if (returnUrl !== undefined) return redirect(withError(returnUrl, why.reason));
        return await page(statuses[why.reason] ?? 400, texts[why.reason]);
      }
      const { connection, url, sessionId, issuer, returnUrl } = outcome;
      emit({ type: "signed-in", connection, issuer });
      if (returnUrl !== undefined) return redirect(new URL(returnUrl));
      const next = await onSignedIn?.({ principal, connection, url: url.href, sessionId });
      if (next === undefined) return await page(200, signedIn);
      return typeof next === "string" || next instanceof URL
        ? redirect(nextPlace(next, "onSignedIn", redirectUrl))
        : next;
    },
  };
  return routes;
}

function withError(returnUrl: string, reason: SignInRefusal): URL {
  const url = new URL(returnUrl);
  url.searchParams.set("error", reason === "denied" ? "access_denied" : "sign_in_failed");
  return url;
}

/** The connection and the resource of a link to `start`, or as the application says. */
async function targetOf(
  context: OAuthContext,
  link: URLSearchParams,
  principal: Principal,
  { connection, url, sessionId }: Omit<StartUse, "principal" | "returnUrl">,
) {
  if (url !== undefined) {
    const resource = new URL(url);
    const name = connection ?? link.get("connection") ?? resource.host;
    return { connection: name, url: resource, resourceId: await resourceIdOf(resource), sessionId };
  }
  const resourceId = link.get("resource");
  const named = connection ?? link.get("connection");
  if (resourceId !== null && !/^[\da-f]{32}$/.test(resourceId)) return undefined;
  const stored =
    resourceId === null
      ? (await context.records.grants(principal)).find(({ record }) => record?.connection === named)
      : await context.records.grant(principal, resourceId);
  const { record } = stored ?? {};
  if (record === undefined) return undefined;
  // The application has another one in mind than the link.
  if (connection !== undefined && connection !== record.connection) return undefined;
  const resource = new URL(record.url);
  return {
    ...{ connection: record.connection, url: resource, sessionId },
    resourceId: await resourceIdOf(resource),
  };
}

function knownError(error: unknown): McpSessionError {
  if (McpSessionError.isInstance(error)) {
    return new McpSessionError(error.code, error.message, { data: error.data });
  }
  // Its words may repeat what it was given.
  const name = error instanceof Error && /^\w{1,50}$/.test(error.name) ? error.name : "Error";
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `The sign-in failed with a ${name}, whose words are left out: they may be secret. Look at the functions among the options, such as \`allowIssuers\` and \`fetch\`.`,
  );
}

const statuses: Partial<Record<SignInRefusal, number>> = {
  unknown: 403,
  forged: 403,
  denied: 403,
  "not-exchanged": 502,
};

const signedIn: PageText = {
  title: "You are signed in",
  text: "You can close this page and go back to the application.",
};

const notOpened: PageText = {
  title: "Nothing has been done",
  text: "This address is for browsers that open it.",
};

const nothingToSignIn: PageText = {
  title: "There is nothing to sign in to",
  text: "This link does not belong to a connection that waits for you. Go back to the application, and look whether you are logged in there as the same user.",
};

const again = "Go back to the application and start the sign-in again.";

const texts: Readonly<Record<SignInRefusal, PageText>> = {
  unknown: {
    title: "This sign-in is not known",
    text: `It was finished before, or it was begun by somebody else. Nothing has changed. ${again}`,
  },
  expired: { title: "This sign-in took too long", text: `Nothing has changed. ${again}` },
  forged: {
    title: "This answer was refused",
    text: `It does not come from the server that was asked. Nothing has changed. ${again}`,
  },
  denied: {
    title: "You are not signed in",
    text: `The server says that access was not granted. ${again}`,
  },
  "not-exchanged": {
    title: "The sign-in failed",
    text: `The server has not given access, or could not be reached. ${again}`,
  },
  "signed-out": {
    title: "You have signed out",
    text: `This sign-in was begun before, so it does not count. ${again}`,
  },
  "not-started": {
    title: "The sign-in could not begin",
    text: "The server's sign-in page was not found, or this application may not use it. Try again later, or tell the people who run the application.",
  },
};
