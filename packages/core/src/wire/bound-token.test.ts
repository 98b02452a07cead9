import { expect, test } from "vitest";
import { sendWithToken, type TokenProof } from "./bound-token.ts";

const wants = (nonce: string) =>
  new Response("", {
    status: 401,
    headers: { "www-authenticate": `DPoP error="use_dpop_nonce"`, "dpop-nonce": nonce },
  });

/** Sends with proofs that show the nonce they were made for. */
async function sendTo(answers: Response[], { isRepeatable = true, isBound = true } = {}) {
  const headers = new Headers();
  const sent: [string | null, string | null][] = [];
  const taken: string[] = [];
  let proofs = 0;
  const dpop: TokenProof = {
    prove: async ({ nonce }) => ({
      header: `proof ${(proofs += 1)} for ${nonce ?? "none"}`,
      takeNonce: async (given) => {
        taken.push(given);
        return given !== nonce;
      },
    }),
  };
  const request = {
    token: "t",
    method: "POST",
    url: "https://mcp.test/mcp",
    headers,
    isRepeatable,
  };
  const answer = await sendWithToken({ ...request, dpop: isBound ? dpop : undefined }, async () => {
    sent.push([headers.get("authorization"), headers.get("dpop")]);
    return answers.shift()!;
  });
  return { status: answer.status, sent, taken };
}

test("a bound token goes with a proof, and no bound one as a bearer token", async () => {
  const bound = await sendTo([new Response("ok")]);
  expect(bound).toMatchObject({ status: 200, sent: [["DPoP t", "proof 1 for none"]] });
  const bearer = await sendTo([new Response("ok")], { isBound: false });
  expect(bearer.sent).toEqual([["Bearer t", null]]);
});

test("a request that lacks a nonce is sent once more, with that of its own answer", async () => {
  const { status, sent, taken } = await sendTo([wants("a"), wants("b"), new Response("ok")]);
  expect(status).toBe(401);
  expect(sent).toEqual([
    ["DPoP t", "proof 1 for none"],
    ["DPoP t", "proof 2 for a"],
  ]);
  expect(taken).toEqual(["a", "b"]);
});

test("what cannot be sent again is not, nor what was refused for another reason", async () => {
  const once = await sendTo([wants("a"), new Response("ok")], { isRepeatable: false });
  expect(once).toMatchObject({ status: 401, taken: ["a"] });
  const headers = { "www-authenticate": `DPoP error="invalid_token"`, "dpop-nonce": "a" };
  const other = await sendTo([new Response("", { status: 401, headers }), new Response("ok")]);
  expect(other.sent).toHaveLength(1);
});
