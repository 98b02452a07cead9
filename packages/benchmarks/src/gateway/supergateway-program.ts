import { spawn } from "node:child_process";
import { freePort } from "../../../e2e/src/processes/free-port.ts";
import { packageBin } from "../../../e2e/src/processes/package-bin.ts";

// supergateway stands before programs: before a URL it runs a second one of itself for each session.
const script = packageBin("supergateway");
const port = await freePort();
const beneath = `${process.execPath} ${script} --streamableHttp ${process.argv[2]!} --logLevel none`;
const child = spawn(
  process.execPath,
  [
    ...[script, "--stdio", beneath, "--outputTransport", "streamableHttp", "--stateful"],
    ...["--port", String(port), "--logLevel", "none"],
  ],
  { stdio: "ignore", detached: true },
);
process.on("exit", () => process.kill(-child.pid!, "SIGKILL"));
process.on("disconnect", () => process.exit());
for (let isUp = false; !isUp;) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  isUp = await fetch(`http://127.0.0.1:${port}/mcp`).then(
    () => true,
    () => false,
  );
}
process.send?.(port);
