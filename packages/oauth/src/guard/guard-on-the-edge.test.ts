import { fileURLToPath } from "node:url";
import { EdgeRuntime } from "edge-runtime";
import { build } from "rolldown";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startLoopbackServer } from "../../test/loopback-server.ts";
import type * as guardedFetch from "./guarded-fetch.ts";

/** The guard and all that it loads, for a runtime that says these conditions of itself. */
async function bundle(platform: "node" | "browser", ...conditions: string[]) {
  const { output } = await build({
    input: fileURLToPath(new URL("guarded-fetch.ts", import.meta.url)),
    platform,
    external: [/^node:/],
    resolve: { conditionNames: ["@durable-mcp/source", "import", ...conditions] },
    output: { format: "iife", name: "guardedFetch" },
    write: false,
    logLevel: "silent",
  });
  const [{ code, moduleIds, imports }] = output;
  return { code, modules: [...moduleIds, ...imports] };
}

const ofNode = (modules: string[]) =>
  modules.filter((module) => /node_modules\/undici\/|^node:|connect-on-node/.test(module));

test.each([
  ["edge-light", "browser"],
  ["workerd", "worker", "browser"],
  ["workerd", "node"], // with Node's compatibility
  ["bun", "node"], // has an undici of its own, without connections
  ["browser"],
  [],
])("has nothing of Node in it for %s", async (...conditions) => {
  const { modules } = await bundle("browser", ...conditions);
  expect(ofNode(modules)).toEqual([]);
  expect(modules.filter((module) => module.endsWith("/guard/connect.ts"))).toHaveLength(1);
});

test("has undici in it for Node alone", async () => {
  expect(ofNode((await bundle("node", "node")).modules).join()).toContain("/undici/");
});

test("is published with the same conditions", () => {
  const published = manifest.publishConfig.imports["#guard/connect"];
  const inSource = manifest.imports["#guard/connect"];
  expect(Object.keys(published)).toEqual(Object.keys(inSource));
  expect(inSource).toMatchObject(published);
});

test("asks allowed origins in an edge runtime, and refuses others", async () => {
  const server = await startLoopbackServer((request, response) => {
    if (request.url === "/moved") {
      response.writeHead(302, { location: "https://other.example" }).end();
      return;
    }
    response.setHeader("set-cookie", "a=1").end(`{"method":"${request.method}"}`);
  });
  const runtime = new EdgeRuntime();
  runtime.evaluate((await bundle("browser", "edge-light", "browser")).code);
  const { createGuardedFetch } = (
    runtime.context as unknown as { guardedFetch: typeof guardedFetch }
  ).guardedFetch;
  const guard = createGuardedFetch({ resource: new URL(server.origin) });

  const answer = await guard.fetch(`${server.origin}/token`, { method: "POST", body: "a=b" });
  expect(await answer.json()).toEqual({ method: "POST" });
  expect(answer.headers.has("set-cookie")).toBe(false);
  await expect(guard.fetch(`${server.origin}/moved`)).rejects.toMatchObject({
    data: { reason: "redirect" },
  });
  const outside = createGuardedFetch({ resource: new URL("https://mcp.example") });
  outside.allow(server.origin);
  for (const target of [server.origin, "https://mcp.internal", "https://169.254.169.254"]) {
    outside.allow(target);
    await expect(outside.fetch(target)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin" },
    });
  }
  expect(server.requests).toHaveLength(2);
});
