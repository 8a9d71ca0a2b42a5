/** Values that outlive a reload of the configuration, such as what was learnt from calls. */
import type { Host } from '../../core/index.ts';

/**
 * Keeps one value for each name and settings: a reload with the same settings goes on with it. Returns the
 * function that gets it.
 */
export function keepThroughReloads<Value>(
  { hooks, openResource }: Pick<Host, 'hooks' | 'openResource'>,
  name: string,
  made: Value,
  settings: object = {},
): () => Value {
  let value = made;
  hooks.ready.tapPromise(name, async () => {
    value = await openResource(
      name,
      settings,
      () => made,
      () => undefined,
    );
  });
  return () => value;
}
