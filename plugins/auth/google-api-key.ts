/**
 * The credential of Google's protocols, in one of three places: `x-partner-api-key`, Google's own
 * `x-goog-api-key`, and `?key=`. If a client also sends `Authorization`, this key counts.
 */
import { defineCredential } from '../shared/credential.ts';

export const googleApiKey = defineCredential({
  name: 'google-api-key',
  before: 'bearer',
  usual: ['generate-content', 'embed-content'],
  openapi: {
    'x-goog-api-key': { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
    'x-partner-api-key': { type: 'apiKey', in: 'header', name: 'x-partner-api-key' },
    key: { type: 'apiKey', in: 'query', name: 'key' },
  },
  findSecret({ headers, query }) {
    const places = [headers['x-partner-api-key'], headers['x-goog-api-key'], query.get('key')];
    return places.find((secret): secret is string => typeof secret === 'string' && secret !== '');
  },
});
