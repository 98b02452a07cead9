import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { html } from "hono/html";
import type { Interaction, Provider } from "oidc-provider";

/** The pages of an authorization server: who the user is, and what a client may do. Any name signs in. */
export function serveConsentPages(provider: Provider) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const interaction = await provider.interactionDetails(request, response);
    const isLogin = interaction.prompt.name === "login";
    if (request.method !== "POST") {
      response.setHeader("content-type", "text/html; charset=utf-8");
      const client = await provider.Client.find(String(interaction.params["client_id"]));
      const page = isLogin ? loginPage() : consentPage(client?.clientName ?? "", interaction);
      return void response.end((await page).toString());
    }
    const form = new URLSearchParams(await text(request));
    const result = isLogin
      ? { login: { accountId: form.get("name") ?? "" } }
      : { consent: { grantId: await grant(provider, interaction) } };
    const mergeWithLastSubmission = !isLogin;
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission });
  };
}

const loginPage = () =>
  html`<!doctype html>
    <title>Sign in</title>
    <h1>Sign in to the shop</h1>
    <form method="post">
      <input name="name" placeholder="Name" required />
      <button>Sign in</button>
    </form>`;

const consentPage = (clientName: string, { prompt }: Interaction) => {
  const scopes = Object.values(missingOf(prompt.details).missingResourceScopes ?? {}).flat();
  return html`<!doctype html>
    <title>Consent</title>
    <h1>Allow access?</h1>
    <p>${clientName} wants: ${scopes.join(", ")}</p>
    <form method="post"><button>Allow</button></form>`;
};

/** Keeps what the user has just allowed. */
async function grant(provider: Provider, interaction: Interaction): Promise<string> {
  const { grantId, session, params, prompt } = interaction;
  const before = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const clientId = String(params["client_id"]);
  const allowed = before ?? new provider.Grant({ accountId: session!.accountId, clientId });
  const { missingOIDCScope = [], missingResourceScopes = {} } = missingOf(prompt.details);
  allowed.addOIDCScope(missingOIDCScope.join(" "));
  for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
    allowed.addResourceScope(resource, scopes.join(" "));
  }
  return await allowed.save();
}

function missingOf(details: Interaction["prompt"]["details"]) {
  return details as {
    missingOIDCScope?: string[];
    missingResourceScopes?: Record<string, string[]>;
  };
}
