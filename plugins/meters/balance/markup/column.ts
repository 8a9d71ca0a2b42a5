/** The step that adds what vendors bill to entries. Null: as much as was charged. */
export const vendorColumn = (integer: string): string => `ALTER TABLE entries ADD COLUMN vendor ${integer}`;
