import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { createFaultyServer } from "@durable-mcp/testing";
import { expect, onTestFinished, test } from "vitest";
import { startGateway } from "./gateway-process.ts";

const guide = new URL("../../../../docs/guides/gateway.md", import.meta.url);
const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.skipIf(!hasPython)(
  "the guide's program in Python, with its standard library alone, calls a tool",
  async () => {
    const server = await createFaultyServer({
      era: "2025-11-25",
      tools: { add: () => "added from Python" },
    });
    onTestFinished(() => server.close());
    const gateway = await startGateway({ shop: server.url });
    onTestFinished(gateway.stop);
    const [, program = ""] = /```python\n(.*?)```/s.exec(readFileSync(guide, "utf8")) ?? [];
    const address = "http://127.0.0.1:3388/mcp/shop";
    expect(program).toContain(address);
    const own = program.replace(address, gateway.processes[0]!.urlOf("shop"));
    const { stdout } = await promisify(execFile)("python3", ["-c", own]);
    expect(stdout).toContain("added from Python");
  },
);
