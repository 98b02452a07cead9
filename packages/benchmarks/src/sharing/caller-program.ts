/**
 * One of two processes that use a session at once: connects, says so, waits for a line on stdin, and calls ten times.
 *
 *     node caller-program.ts <client> <url> <what an earlier process has saved, as JSON, or "">
 */
import { once } from "node:events";
import { callEcho } from "./call-outcome.ts";
import { clients } from "./clients.ts";

const [name = "", url = "", saved = ""] = process.argv.slice(2);
const client = await clients[name]!(url, saved === "" ? undefined : JSON.parse(saved));
console.log("ready");
await once(process.stdin, "data");
const own = Array.from({ length: 10 }, (_, index) => `${process.pid} ${index}`);
const outcomes = await Promise.all(own.map((text) => callEcho(client, text, 20)));
const right = outcomes.filter((each, n) => each.kind === "answered" && each.text === own[n]);
const count = (kind: string) => outcomes.filter((each) => each.kind === kind).length;
const [failed, hung] = [count("failed"), count("hung")];
const crossed = own.length - right.length - failed - hung;
console.log(JSON.stringify({ right: right.length, crossed, failed, hung }));
process.exit();
