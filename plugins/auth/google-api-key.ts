/**
 * The credential of the generate-content protocol, in its three places: `x-partner-api-key`, Google's own
 * `x-goog-api-key`, and `?key=`. Where a client sends `Authorization` beside it, this one counts.
 */
import { z } from 'zod';
import { definePlugin, type Received } from '../../core/index.ts';
import { principalOf } from '../shared/credential.ts';

const options = z.strictObject({
  /** The protocols, and plugins with routes, that take this credential. */
  families: z.array(z.string()).min(1).default(['generate-content']),
});

function secretIn({ headers, query }: Received): string | undefined {
  const places = [headers['x-partner-api-key'], headers['x-goog-api-key'], query.get('key')];
  return places.find((secret): secret is string => typeof secret === 'string' && secret !== '');
}

export const googleApiKey = definePlugin({
  name: 'google-api-key',
  options,
  apply(host, { families }) {
    host.hooks.authenticate.tapPromise({ name: 'google-api-key', before: 'bearer' }, async (received) => {
      const secret = families.includes(received.family) ? secretIn(received) : undefined;
      return secret === undefined ? undefined : principalOf(host, secret);
    });
  },
});
