/** Which ledgers a program can use, whichever store keeps them. */

/** The error of a command that reads a ledger which does not exist. */
export class NoLedger extends Error {
  constructor(place: string) {
    super(`there is no ledger at ${place} yet: \`tollgate start\` and \`tollgate keys create\` make one`);
  }
}

/**
 * Whether a database of this version, of which this program knows `known`, is empty and needs all tables.
 * Throws if this program cannot use that version.
 */
export function needsTables(version: number, known: number): boolean {
  if (version > known)
    throw new Error(`it has version ${version} and this program knows up to ${known}: a newer one wrote it`);
  if (version > 0 && version < known)
    throw new Error(
      `it has version ${version}, which was never released, and this program reads versions from ${known}: ` +
        'start with a new ledger, or open it with the program that wrote it',
    );
  return version === 0;
}
