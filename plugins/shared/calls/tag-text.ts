/** A tag as budgets, filters and exports write it: its name, with its value if it has one. */
export function formatTag(name: string, value: string): string {
  return value === '' ? name : `${name}:${value}`;
}
