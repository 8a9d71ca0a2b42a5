/**
 * `x-api-key: <key>`, the credential of the messages protocol. Where a client sends `Authorization` beside it,
 * this one counts, as it does at Anthropic.
 */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { principalOf } from '../shared/credential.ts';

const options = z.strictObject({
  /** The protocols, and plugins with routes, that take this credential. */
  families: z.array(z.string()).min(1).default(['messages']),
});

export const apiKeyHeader = definePlugin({
  name: 'api-key-header',
  options,
  apply(host, { families }) {
    host.hooks.authenticate.tapPromise({ name: 'api-key-header', before: 'bearer' }, async ({ family, headers }) => {
      const secret = families.includes(family) ? headers['x-api-key'] : undefined;
      return typeof secret === 'string' && secret ? principalOf(host, secret) : undefined;
    });
  },
});
