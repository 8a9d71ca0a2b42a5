/**
 * `Authorization: Bearer <key>`, accepted in every family: today's SDKs send it whatever protocol they speak.
 */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { familiesSchema, takeCredential } from '../shared/credential.ts';

export const bearer = definePlugin({
  name: 'bearer',
  options: z.strictObject({ families: familiesSchema }),
  apply(host, { families }) {
    takeCredential(host, {
      name: 'bearer',
      named: families,
      openapi: { bearer: { type: 'http', scheme: 'bearer' } },
      secretIn: ({ headers }) => /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1],
    });
  },
});
