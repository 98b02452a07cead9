import type { CartClient } from "./cart-clients.ts";

/** What became of one client's calls, and the cart as it reads it in the end. */
export interface CartReport {
  readonly name: string;
  /** The protocol revision that it spoke. */
  readonly revision: string;
  /** The items whose call was answered. */
  readonly answered: readonly string[];
  /** The items whose call may have been carried out, or not: its client was told so. */
  readonly unknown: readonly string[];
  readonly cart: readonly string[];
}

/** Adds items one after the other. Whatever becomes of a call, it is not sent twice. */
export async function fillCart(
  client: CartClient,
  items: readonly string[],
): Promise<Pick<CartReport, "answered" | "unknown">> {
  const answered: string[] = [];
  const unknown: string[] = [];
  for (const item of items) {
    try {
      await client.addItem(item);
      answered.push(item);
    } catch (error) {
      if (!isOutcomeUnknown(error)) throw error;
      unknown.push(item);
    }
  }
  return { answered, unknown };
}

/** The server has said so, the balancer (502), or the broken connection. No other failure may happen here. */
function isOutcomeUnknown(error: unknown): boolean {
  const { data, cause, message } = error as Error & { data?: { code?: unknown } };
  if (data?.code === "OUTCOME_UNKNOWN") return true;
  if (cause instanceof Error) return isOutcomeUnknown(cause);
  return /\b502\b|terminated|fetch failed/.test(message);
}

/** What is wrong, one finding a line; nothing if all read the same cart, with what they were told. */
export function findFaults(reports: readonly CartReport[]): readonly string[] {
  const [cart = [], ...others] = reports.map((report) => report.cart);
  const answered = reports.flatMap((report) => report.answered);
  const unknown = reports.flatMap((report) => report.unknown);
  const isAdded = (item: string) => answered.includes(item) || unknown.includes(item);
  return [
    ...answered.filter((item) => !cart.includes(item)).map((item) => `Lost: ${item}.`),
    ...cart.filter((item, index) => cart.indexOf(item) < index).map((item) => `Twice: ${item}.`),
    ...cart.filter((item) => !isAdded(item)).map((item) => `Added by nobody: ${item}.`),
    ...(others.every((other) => other.join() === cart.join()) ? [] : ["The carts differ."]),
  ];
}
