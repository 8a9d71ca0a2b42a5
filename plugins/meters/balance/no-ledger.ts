/** The error of a command that reads a ledger which does not exist. */
export class NoLedger extends Error {
  constructor(place: string) {
    super(`there is no ledger at ${place} yet: \`tollgate start\` and \`tollgate keys create\` make one`);
  }
}
