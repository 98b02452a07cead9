import { Agent, createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

// The least that a gateway on Node can cost: it passes bytes on.
const agent = new Agent({ keepAlive: true });
const target = new URL(process.argv[2]!);

const server = createServer((incoming, outgoing) => {
  const { method, headers } = incoming;
  const sent = sendRequest(target, { method, headers, agent }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(sent);
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
