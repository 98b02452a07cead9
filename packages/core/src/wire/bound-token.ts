import { challengeOf } from "./bearer-challenge.ts";
import { letGo } from "./read-answer.ts";

/**
 * Sends a token that is bound to a key.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449
 */
export interface TokenProof {
  /**
   * Makes the proof for one request. Each request has its own, a repeated one too.
   *
   * @param request.nonce the refusal's, for a repeated request; by default the last one that is known
   */
  prove(request: {
    readonly method: string;
    readonly url: string;
    readonly nonce?: string | undefined;
  }): Promise<Proof>;
}

/** The proof for one request. */
interface Proof {
  /** The `DPoP` header. */
  readonly header: string;
  /** Takes the nonce of the answer. @returns whether it is another than this proof has */
  takeNonce(nonce: string): Promise<boolean>;
}

interface TokenRequest {
  /** `undefined` for a request without one. */
  readonly token: string | undefined;
  /** Set for a token that is bound to a key: it is no bearer token. */
  readonly dpop?: TokenProof | undefined;
  readonly method: string;
  readonly url: string;
  /** Those of the request, where the token goes. */
  readonly headers: Headers;
  /** Whether its body can be sent again. */
  readonly isRepeatable: boolean;
}

/**
 * Sends a request with a token. A server that wants a nonce in the proof has done nothing yet: it gets the request
 * once more.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449#section-9
 */
export async function sendWithToken(
  { token, dpop, method, url, headers, isRepeatable }: TokenRequest,
  send: () => Promise<Response>,
): Promise<Response> {
  if (token === undefined || dpop === undefined) {
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    return await send();
  }
  const sendProven = async (wanted?: string) => {
    const proof = await dpop.prove({ method, url, nonce: wanted });
    headers.set("authorization", `DPoP ${token}`);
    headers.set("dpop", proof.header);
    const answer = await send();
    const nonce = answer.headers.get("dpop-nonce") ?? undefined;
    return { answer, nonce, isNew: nonce !== undefined && (await proof.takeNonce(nonce)) };
  };
  const { answer, nonce, isNew } = await sendProven();
  const isWanted =
    answer.status === 401 && challengeOf(answer.headers, "dpop")?.error === "use_dpop_nonce";
  if (!isNew || !isWanted || !isRepeatable) return answer;
  letGo(answer);
  return (await sendProven(nonce)).answer;
}
