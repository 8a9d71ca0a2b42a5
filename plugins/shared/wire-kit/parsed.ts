/** The JSON of an event; undefined where it is none. */
export function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
