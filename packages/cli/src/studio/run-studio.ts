import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { createStudio, type StudioNames } from "@durable-mcp/ai-sdk/studio";
import { toNodeHandler } from "@durable-mcp/server/node";
import type { Command } from "commander";
import { readConnectionsModule } from "../configuration/connections-module.ts";
import { print, printJson } from "../output/print.ts";
import { asked, isSame, listen } from "../serving/listen.ts";
import { type OpenedStore, withStore } from "../store/open-store.ts";
import { createShortNames } from "../store/short-names.ts";
import type { StoreOptions } from "../store/store-options.ts";

interface StudioCommandOptions extends StoreOptions {
  readonly port: number;
  readonly agent: string;
  readonly connections?: string;
  readonly act?: true;
  readonly names?: true;
}

/** Serves the studio to one browser of this machine, until the process is asked to end. */
export async function runStudio(options: StudioCommandOptions, command: Command): Promise<void> {
  await withStore(options, async (opened) => {
    const { connections: path, agent, act, port } = options;
    const declared = path === undefined ? [] : await readConnectionsModule(path);
    const sessions = createDurableSessions({
      connections: Object.fromEntries(declared.map(({ name, connection }) => [name, connection!])),
      store: opened.store,
      ...(agent === "-" ? { share: true } : { agent }),
      onEvent: () => undefined,
    });
    const door = createOneTimeDoor();
    const may = ["look", ...(act ? ["end"] : []), ...(act && path ? ["answer"] : [])] as const;
    const studio = createStudio({
      sessions,
      authorize: (request) =>
        door.knows(request) ? { name: "durable-mcp studio", may: may as never } : undefined,
      names: options.names ? undefined : await shortNames(opened, command),
    });
    const handle = toNodeHandler(async (request) => door.open(request) ?? (await studio(request)));
    const server = createServer(handle);
    await listen(server, port, "127.0.0.1");
    const { port: own } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${own}${door.link}`;
    if (options.json) printJson(command, { url });
    else print(command, url);
    await asked();
    server.close();
    server.closeAllConnections();
    await sessions.shutdown();
  });
}

/** The names of the other commands, in the place of ids. */
async function shortNames(opened: OpenedStore, command: Command): Promise<StudioNames> {
  const short = await createShortNames(opened, command);
  const shown = new Map<string, string>();
  return {
    show(kind, text) {
      const name = kind === "chat" ? short("session", text) : `user-${short("owner", text)}`;
      shown.set(name, text);
      return name;
    },
    find: (name) => shown.get(name),
  };
}

const random = () => randomBytes(24).toString("base64url");

/**
 * Lets the browser in that opens the link first, and no other. A cookie goes to each port of a machine, so this one is
 * of a path that nobody else knows.
 */
function createOneTimeDoor() {
  const [place, pass] = [`/${random()}`, random()];
  let key: string | undefined = random();
  return {
    link: `/open?key=${key}`,
    /** Whether a request is of the browser that was let in. */
    knows: (request: Request) =>
      isSame(/(?:^|; *)studio=([\w-]+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "", pass),
    /** The answer to whoever comes to the door; `undefined` behind it. */
    open(request: Request): Response | undefined {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === place) return undefined;
      const isFirst = pathname === "/open" && key && isSame(searchParams.get("key") ?? "", key);
      if (!isFirst) {
        const text = "Open the link that durable-mcp studio has printed. It opens one browser.\n";
        return new Response(text, { status: 403 });
      }
      key = undefined;
      const cookie = `studio=${pass}; Path=${place}; HttpOnly; SameSite=Strict`;
      const headers = { location: place, "set-cookie": cookie, "referrer-policy": "no-referrer" };
      return new Response(null, { status: 303, headers });
    },
  };
}
