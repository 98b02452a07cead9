/** A seeded source of randomness: the same seed gives the same numbers, on every machine. */
export interface Random {
  /** From 0 up to, not including, 1. */
  readonly float: () => number;
  /** A whole number from 0 up to, not including, `count`. */
  readonly below: (count: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(items: readonly T[]) => T;
}

export function createRandom(seed: number): Random {
  let state = mix(seed >>> 0);
  const float = () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(float() * count);
  return {
    float,
    below,
    chance: (probability) => probability > 0 && float() < probability,
    pick: (items) => items[below(items.length)]!,
  };
}

/** Spreads neighbouring seeds over all 32 bits. */
function mix(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}
