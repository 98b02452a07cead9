import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { createStdioTransport } from "./stdio-transport.ts";

test("a server may use the id of a question again once it has its answer, and not before", async () => {
  const stdout = new PassThrough();
  const onDropped = vi.fn<(line: Buffer, reason: string) => void>();
  const asked: unknown[] = [];
  const transport = createStdioTransport(
    { stdin: new PassThrough(), stdout, ended: new Promise(() => {}), hold() {} } as never,
    { onDropped, toServer: (message: object) => message } as never,
  );
  Object.assign(transport, { onmessage: (message: object) => void asked.push(message) });
  await transport.start();
  const ask = () => stdout.write('{"jsonrpc":"2.0","id":7,"method":"ping"}\n');
  ask();
  ask();
  await expect.poll(() => onDropped.mock.lastCall?.[1]).toBe("too-many");
  expect(asked).toHaveLength(1);
  await transport.send({ jsonrpc: "2.0", id: 7, result: {} });
  ask();
  await expect.poll(() => asked.length).toBe(2);
  expect(onDropped).toHaveBeenCalledTimes(1);
});
