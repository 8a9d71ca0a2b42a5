/** `Authorization: Bearer <key>`, understood on every family: today's SDKs send it whatever protocol they speak. */
import { z } from 'zod';
import { definePlugin, type Received } from '../../core/index.ts';
import { principalOf } from '../shared/credential.ts';

const options = z.strictObject({
  /** The protocols, and plugins with routes, that take this credential; all of them unless given. */
  families: z.array(z.string()).min(1).optional(),
});

function secretIn({ headers }: Received): string | undefined {
  return /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
}

export const bearer = definePlugin({
  name: 'bearer',
  options,
  apply(host, { families }) {
    host.hooks.authenticate.tapPromise('bearer', async (received) => {
      const secret = !families || families.includes(received.family) ? secretIn(received) : undefined;
      return secret === undefined ? undefined : principalOf(host, secret);
    });
  },
});
