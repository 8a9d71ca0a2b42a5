/**
 * The credential of the generate-content protocol, in one of three places: `x-partner-api-key`, Google's own
 * `x-goog-api-key`, and `?key=`. If a client also sends `Authorization`, this key counts.
 */
import { z } from 'zod';
import { definePlugin, type Received } from '../../core/index.ts';
import { familiesSchema, takeCredential } from '../shared/credential.ts';

function secretIn({ headers, query }: Received): string | undefined {
  const places = [headers['x-partner-api-key'], headers['x-goog-api-key'], query.get('key')];
  return places.find((secret): secret is string => typeof secret === 'string' && secret !== '');
}

export const googleApiKey = definePlugin({
  name: 'google-api-key',
  options: z.strictObject({ families: familiesSchema }),
  apply(host, { families }) {
    takeCredential(host, {
      name: 'google-api-key',
      before: 'bearer',
      named: families,
      usual: ['generate-content'],
      openapi: {
        'x-goog-api-key': { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
        'x-partner-api-key': { type: 'apiKey', in: 'header', name: 'x-partner-api-key' },
        key: { type: 'apiKey', in: 'query', name: 'key' },
      },
      secretIn,
    });
  },
});
