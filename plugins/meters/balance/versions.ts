/** Which ledgers a program can use, whichever store keeps them, and the steps that bring them up to date. */

/** The error of a command that reads a ledger which does not exist. */
export class NoLedger extends Error {
  constructor(place: string) {
    super(`there is no ledger at ${place} yet: \`tollgate start\` and \`tollgate keys create\` make one`);
  }
}

export interface Migrations {
  /** The version that the first step makes. Lower ones, except 0 for an empty database, were not released. */
  readonly first: number;
  /** SQL of one step for each version. A step is never changed once it is released. */
  readonly steps: readonly string[];
}

export function computeNewest({ first, steps }: Migrations): number {
  return first + steps.length - 1;
}

/** The steps that a database of this version needs. Throws if this program cannot use that version. */
export function selectSteps(migrations: Migrations, version: number): readonly string[] {
  const { first, steps } = migrations;
  const newest = computeNewest(migrations);
  if (version === 0) return steps;
  if (version > newest)
    throw new Error(`it has version ${version} and this program knows up to ${newest}: a newer one wrote it`);
  if (version < first)
    throw new Error(
      `it has version ${version}, which was never released, and this program reads versions from ${first}: ` +
        'start with a new ledger, or open it with the program that wrote it',
    );
  return steps.slice(version - first + 1);
}
