/**
 * Returns what was made for a key before, or makes it. What fails is made again when it is next asked for.
 */
export function keep<Key, Made>(
  kept: Map<Key, Promise<Made>>,
  key: Key,
  make: () => Promise<Made>,
): Promise<Made> {
  const known = kept.get(key);
  if (known) return known;
  const made = make();
  kept.set(key, made);
  made.catch(() => kept.delete(key));
  return made;
}
