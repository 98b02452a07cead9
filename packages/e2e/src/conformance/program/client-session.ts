import { createSessionFetch, createSessionSlot, parseSessionSnapshot } from "@durable-mcp/core";
import {
  type AuthorizationState,
  createAuthorization,
  type ScenarioContext,
} from "./authorization.ts";
import {
  type ConformanceClient,
  type ConformanceClientKind,
  vouchingFetch,
} from "../clients/conformance-client.ts";
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
    kind.hasOwnFetch || saved?.snapshot === undefined
      ? undefined
      : parseSessionSnapshot(saved.snapshot),
  );
  const fetch = kind.hasOwnFetch
    ? undefined
    : createSessionFetch({
        url,
        slot,
        fetch: vouchingFetch,
        listening: elicitation,
      });
  let client: ConformanceClient | undefined;
  let snapshot = saved?.snapshot;

  const attempt = async (step: ScenarioStep) => {
    if (client === undefined) {
      const authProvider = authorization.provider;
      client = kind.create({
        ...{ url, authProvider, fetch, saved: snapshot },
        ...(elicitation && { capabilities: { elicitation: {} }, acceptsForms: true }),
      });
      await client.connect();
    }
    await step(client);
  };
  const close = async () => {
    await client?.close();
    snapshot = client?.saved ? client.saved() : slot.snapshot;
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
      return { snapshot, authorization: authorization.state };
    },
  };
}
