/**
 * `x-api-key: <key>`, the credential of the messages protocol. If a client also sends `Authorization`, this
 * key counts, as at Anthropic.
 */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { familiesSchema, takeCredential } from '../shared/credential.ts';

export const apiKeyHeader = definePlugin({
  name: 'api-key-header',
  options: z.strictObject({ families: familiesSchema }),
  apply(host, { families }) {
    takeCredential(host, {
      name: 'api-key-header',
      before: 'bearer',
      named: families,
      usual: ['messages'],
      openapi: { 'x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key' } },
      secretIn({ headers }) {
        const secret = headers['x-api-key'];
        return typeof secret === 'string' ? secret : undefined;
      },
    });
  },
});
