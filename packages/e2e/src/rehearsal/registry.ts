import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { waitForPort } from "../../../examples/src/programs/wait-for-port.ts";
import { freePort } from "../processes/free-port.ts";
import { plainEnvironment, runCommand } from "../smoke/run-command.ts";

/** A registry of npm packages, for our scope alone. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** Uploads by package: `"cut"` breaks in the middle, `"unanswered"` is stored and breaks before its answer. */
  readonly faults: Map<string, "cut" | "unanswered">;
}

const project = {
  private: true,
  dependencies: { verdaccio: "6.10.4" },
  // It is asked for by a tag there, which not every mirror of npm has.
  overrides: { "node-fetch": "2.7.0" },
};
const config = {
  storage: "./storage",
  packages: { "@durable-mcp/*": { access: "$all", publish: "$all" } },
};
/** How npm refuses what verdaccio refuses with 409. */
const isThere = '{"error":"You cannot publish over the previously published versions."}';

/** Installs verdaccio into a folder, and starts it behind a proxy that can break uploads. */
export async function startRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify(project));
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const { isDone, output } = await runCommand(folder, "npm", ["install", "--no-audit"]);
  if (!isDone) throw new Error(`verdaccio could not be installed: ${output}`);
  const port = await freePort();
  const log = openSync(join(folder, "log"), "w");
  const args = ["node_modules/verdaccio/bin/verdaccio", "-c", "config.yaml", "-l"];
  const child = spawn(process.execPath, [...args, `127.0.0.1:${port}`], {
    cwd: folder,
    env: plainEnvironment(),
    stdio: ["ignore", log, log],
  });
  await waitForPort(port);

  const faults: Registry["faults"] = new Map();
  const proxy = createServer((incoming, response) => {
    const { method, url = "/", headers, socket } = incoming;
    const fault = method === "PUT" ? faults.get(decodeURIComponent(url).slice(1)) : undefined;
    const passed = request({ port, host: "127.0.0.1", method, path: url, headers }, (answer) => {
      const { statusCode = 502 } = answer;
      if (fault === "unanswered") answer.resume().once("end", () => socket.destroy());
      else if (statusCode !== 409) answer.pipe(response.writeHead(statusCode, answer.headers));
      else response.writeHead(403, { "content-type": "application/json" }).end(isThere);
    });
    passed.on("error", () => socket.destroy());
    if (fault === "cut") incoming.once("data", () => passed.destroy());
    else incoming.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`;
  const stop = async () => {
    proxy.close().closeAllConnections();
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { url, faults, [Symbol.asyncDispose]: stop };
}
