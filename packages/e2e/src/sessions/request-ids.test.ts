import { expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { share } from "../matrix/pairs.ts";
import { runStep } from "../steps/run-step.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";

const notebook = useServer(startNotebookServer);

test.each(share(clientNames, 2))(
  "%s never repeats a request id within a session, whatever the process (S16, S17)",
  async (client) => {
    const calls = Array.from({ length: 3 }, () => ({ tool: "whoami", args: {} }));
    const step = { client, url: notebook.server.url, list: true, calls };
    const first = await runStep(step);
    const second = await runStep({ ...step, snapshot: first.snapshot });
    const third = await runStep({ ...step, snapshot: first.snapshot });
    const texts = [first, second, third].flatMap((run) => run.results.map((result) => result.text));
    expect(texts).toHaveLength(9);
    expect(texts).not.toContain(undefined);
    expect(new Set(texts).size).toBe(9);
  },
);
