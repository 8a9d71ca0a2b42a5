/** Pseudo-random numbers, the same ones for the same seed. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed % 2_147_483_647 || 1;
  return (below) => {
    state = (state * 16_807) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * below);
  };
}
