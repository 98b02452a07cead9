import { createSessionFetch, createSessionSlot, parseSessionSnapshot } from "@durable-mcp/core";
import {
  type AuthorizationState,
  createAuthorization,
  type ScenarioContext,
} from "./authorization.ts";
import type { ConformanceClient, ConformanceClientKind } from "./conformance-client.ts";
import { needsElicitation, type ScenarioStep } from "./scenario-steps.ts";

/** What one step leaves for the next: plain JSON. */
export interface SavedState {
  snapshot?: unknown;
  authorization: AuthorizationState;
}

/** A client that does steps on one MCP session. */
export interface ClientSession {
  runStep: (step: ScenarioStep) => Promise<void>;
  /** Closes the client and returns what to save. */
  close: () => Promise<SavedState>;
}

/** Builds a client on the session that a state holds, or on a new one. */
export function openClientSession({
  kind,
  url,
  scenario,
  context,
  saved,
}: {
  kind: ConformanceClientKind;
  url: string;
  scenario: string;
  context: ScenarioContext;
  saved: SavedState | undefined;
}): ClientSession {
  const elicitation = needsElicitation(scenario);
  const authorization = createAuthorization({ ...saved?.authorization }, context);
  const slot = createSessionSlot(
    saved?.snapshot === undefined ? undefined : parseSessionSnapshot(saved.snapshot),
  );
  const options = {
    url,
    authProvider: authorization.provider,
    elicitation,
    fetch: kind.isBare
      ? undefined
      : createSessionFetch({
          url,
          slot,
          // Vouches for the authorization server, which is another origin.
          fetch: (input, init) => globalThis.fetch(input, init),
          listen: elicitation,
        }),
  };
  let client: ConformanceClient | undefined;

  const attempt = async (step: ScenarioStep) => {
    if (client === undefined) {
      client = kind.create(options);
      await client.connect();
    }
    await step(client);
  };
  const close = async () => {
    await client?.close();
    client = undefined;
  };

  return {
    async runStep(step) {
      try {
        await attempt(step);
      } catch (error) {
        const callback = authorization.takeCallback();
        if (callback === undefined) throw error;
        // The user was away at the authorization server, the old client with them.
        await client?.finishAuthorization(callback);
        await close();
        await attempt(step);
      }
    },
    async close() {
      await close();
      const { snapshot } = slot;
      return { ...(snapshot && { snapshot }), authorization: authorization.state };
    },
  };
}
