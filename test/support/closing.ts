/**
 * Closes what tests open: what a test opened when it ends, what a hook opened with its file, and always the
 * last first. Tests that run at once share the end of the last of them.
 */
type Close = () => Promise<void>;

/** What the file opened, and what the running tests did. */
const scopes = [new Set<Close>()];

/** Returns a `close` that works once: when a test calls it, or else when its scope ends. */
export function closeInTime(close: Close): Close {
  let closed: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => {
    for (const scope of scopes) scope.delete(closeOnce);
    closed ??= close();
    return closed;
  };
  scopes.at(-1)?.add(closeOnce);
  return closeOnce;
}

export function beginScope(): void {
  scopes.push(new Set());
}

/** Closes all of the scope, even if something in it cannot be closed, and says so afterwards. */
export async function endScope(): Promise<void> {
  const faults: unknown[] = [];
  for (const close of [...(scopes.at(-1) ?? [])].toReversed())
    await close().catch((error: unknown) => faults.push(error));
  if (scopes.length > 1) scopes.pop();
  if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join('; '));
}
