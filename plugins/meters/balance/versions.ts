/**
 * Which steps bring the tables of a database up to date, whichever store keeps them. A step is never changed
 * once it is released.
 */
export interface Migrations {
  /** The version that the first step makes. Lower ones, except 0 for an empty database, were not released. */
  readonly first: number;
  /** SQL of one step for each version. */
  readonly steps: readonly string[];
}

export function newestVersion({ first, steps }: Migrations): number {
  return first + steps.length - 1;
}

/** The steps that a database of this version needs. Throws if this program cannot use that version. */
export function missingSteps(migrations: Migrations, version: number): readonly string[] {
  const { first, steps } = migrations;
  const newest = newestVersion(migrations);
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
