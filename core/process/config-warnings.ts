/**
 * What a configuration lacks to be of use to anyone: it is right as it stands, and would refuse every call.
 */
import type { Gateway } from '../gateway.ts';

/** A line for each thing, with what to add. */
export function shortcomingsOf({
  protocols,
  providers,
  keyrings,
  hooks,
}: Pick<Gateway, 'protocols' | 'providers' | 'keyrings' | 'hooks'>): string[] {
  const told: string[] = [];
  if (protocols.all().next().done)
    told.push('No protocol is listed, so that no client can call: add one, chatCompletions() say.');
  // Taps before the usual place turn calls away and let nobody in.
  if (!hooks.authenticate.taps.some(({ stage = 0 }) => stage >= 0))
    told.push('No credential is understood, so that every call is refused: add one, bearer() say.');
  else if (keyrings.all().next().done)
    told.push(
      'Nobody keeps keys: calls are refused unless a plugin of your own knows who makes them. balance() keeps keys.',
    );
  if (providers.all().next().done)
    told.push('No provider is on, so that calls find no model: set the key of one, or add demo().');
  return told;
}
