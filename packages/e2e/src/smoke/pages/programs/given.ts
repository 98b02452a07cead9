// What a page takes as given (`<!-- given`), by name: made when a program needs it.
import { agentsGiven } from "./given-agents.ts";
import { applicationGiven } from "./given-application.ts";
import { serversGiven } from "./given-servers.ts";
import type { Given, Makers, World } from "./world.ts";

/** Names of which a page may mean two things, by their types. */
const byType = /ToolLoopAgent|SessionHandlerOptions|Principal>|\(\) => .*Principal/;

export function createGiven(world: World, code: string): Given {
  const made = new Map<string, unknown>();
  const given: Given = {
    ...{ code, world },
    take: async (name, type = "") => {
      const key = byType.exec(type)?.[0].replace(/^\(\).*/, "() => Principal") ?? name;
      const make = makers[key];
      if (make === undefined) throw new Error(`Nothing is given as ${name}: add it to given.ts.`);
      if (!made.has(key)) made.set(key, await make());
      return made.get(key);
    },
  };
  const makers: Makers = {
    ...agentsGiven(given),
    ...applicationGiven(given),
    ...serversGiven(given),
  };
  return given;
}
