/**
 * `x-api-key: <key>`, the credential of the messages protocol. If a client also sends `Authorization`, this
 * key counts, as at Anthropic.
 */
import { defineCredential } from '../shared/credential.ts';

export const apiKeyHeader = defineCredential({
  name: 'api-key-header',
  before: 'bearer',
  usual: ['messages'],
  openapi: { 'x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key' } },
  findSecret({ headers }) {
    const secret = headers['x-api-key'];
    return typeof secret === 'string' ? secret : undefined;
  },
});
