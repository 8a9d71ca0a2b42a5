/** The third step of the tables: a key's calls are counted in the ledger, where all processes see them. */
export const minuteColumns = `
-- Of a root: when the minute began in which its calls were last counted, and how many there were.
ALTER TABLE keys ADD COLUMN minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
`;
