import { isRecord } from "@durable-mcp/core/internal";
import { type SealingKeys, sealState, unsealState } from "@durable-mcp/core/sealing";
import type { InputResponses } from "@durable-mcp/core/waiting";
import { McpSessionError, type Principal } from "@durable-mcp/sessions";
import type { HookPayload, WaitingStep } from "../step-protocol.ts";
import { anySession } from "./step-sessions.ts";

/** What a person said to the questions of one round, or that the user has perhaps signed in. */
export type PersonSaid =
  | { readonly kind: "answer"; readonly responses: InputResponses }
  | { readonly kind: "withdraw" }
  | { readonly kind: "wake" };

type Round = Pick<WaitingStep, "id" | "round">;

interface Asked {
  readonly principal: Principal;
  readonly sessionId?: string | undefined;
}

/** Carries what a person said from an API route through a hook to a step. */
export type SaidThroughHook = ReturnType<typeof createSaidThroughHook>;

/** With keys it is sealed for the principal: nobody reads it in the event log, and nobody else makes it. */
export function createSaidThroughHook(
  keys: SealingKeys | undefined,
  expiresInMs: number,
  now: () => number,
) {
  const binding = ({ principal, sessionId = anySession }: Asked) => ({ principal, sessionId, now });
  return {
    async print(content: PersonSaid, asked: Asked, { id, round }: Round): Promise<HookPayload> {
      const said = { ...content, id, round };
      if (keys === undefined) return { plain: JSON.stringify(said) };
      const { sealed } = await sealState({ said }, { keys, ...binding(asked), expiresInMs });
      if (sealed !== undefined) return { sealed };
      throw new McpSessionError(
        "INPUT_INVALID",
        "responses must be less than 1 MB of JSON together. Nothing was sent, and the call still waits.",
        { data: { field: "responses" } },
      );
    },

    /** @returns `undefined` for what `print` has not made for these questions */
    async read(
      payload: unknown,
      asked: Asked,
      { id, round }: Round,
    ): Promise<PersonSaid | undefined> {
      if (!isRecord(payload)) return undefined;
      let said: unknown;
      if (keys === undefined) {
        said = parsed(payload["plain"]);
      } else {
        const { state } = await unsealState(payload["sealed"], { keys, ...binding(asked) });
        said = isRecord(state) ? state["said"] : undefined;
      }
      if (!isRecord(said) || said["id"] !== id || said["round"] !== round) return undefined;
      return said as unknown as PersonSaid;
    },
  };
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === "string" ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
