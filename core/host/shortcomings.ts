/** What a configuration lacks to serve calls. */
import type { CoreHooks } from '../hooks.ts';
import type { Host } from '../plugin.ts';

/** One line for each problem, with what to add. */
export function listShortcomings({
  protocols,
  providers,
  keyrings,
  hooks,
}: Pick<Host, 'protocols' | 'providers' | 'keyrings'> & {
  readonly hooks: Pick<CoreHooks, 'authenticate'>;
}): string[] {
  const lacks: string[] = [];
  const listed = [...protocols.list()];
  if (listed.length === 0)
    lacks.push('No protocol is listed, so no client can call: add one, such as chatCompletions().');
  // Taps at an earlier stage only reject calls, so they do not count as authentication.
  if (!hooks.authenticate.taps.some(({ stage = 0 }) => stage >= 0))
    lacks.push('No credential plugin is listed, so every call is refused: add one, such as bearer().');
  else if (keyrings.list().next().done)
    lacks.push(
      'No plugin keeps keys, so calls are refused unless a plugin of yours authenticates them: ' +
        'add balance().',
    );
  const spoken = new Set([...providers.list()].flatMap(({ endpoints }) => Object.keys(endpoints)));
  if (spoken.size === 0)
    lacks.push("No provider is on, so there are no models: set a provider's key, or add demo().");
  else if (listed.length > 0 && !listed.some(({ name }) => spoken.has(name)))
    lacks.push(
      'No provider speaks a listed protocol, so no model can be called: ' +
        `add one of those they speak (${[...spoken].join(', ')}).`,
    );
  return lacks;
}
