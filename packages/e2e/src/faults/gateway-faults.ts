import type { Family } from "./fault.ts";
import { refreshGroups } from "./refresh-faults.ts";
import type { Begin } from "./misbehaviour.ts";
import { atCall, lasting } from "./server-faults.ts";
import { openServerWorld } from "./server-world.ts";

const carriedOut = true;

/** What comes in the place of an answer when the server has carried the request out. */
const instead: readonly (readonly [string, Begin])[] = [
  ["HTTP 504 in JSON", refusal(504, '{"message":"timed out"}')],
  ["HTTP 502 in HTML", refusal(502, "<title>502 Bad Gateway</title>")],
  ["a reset", (front, on) => front.reset({ ...on, carriedOut })],
  ["silence", (front, on) => front.hang({ ...on, carriedOut })],
];

function refusal(status: number, body: string): Begin {
  return (front, on) =>
    front.meet(async () => new Response(body, { status }), { ...on, carriedOut });
}

export const gatewayFamily: Family = {
  name: "gateway",
  rounds: 5,
  groups: [
    {
      openWorld: openServerWorld,
      worlds: 2,
      faults: instead.map(([name, act]) => atCall(`${name}, to calls`, act, lasting)),
    },
    ...refreshGroups,
  ],
  skipped: [],
};
