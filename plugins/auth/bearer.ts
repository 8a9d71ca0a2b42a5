/**
 * `Authorization: Bearer <key>`, accepted in every family: today's SDKs send it whatever protocol they speak.
 */
import { defineCredential } from '../shared/credential.ts';

export const bearer = defineCredential({
  name: 'bearer',
  openapi: { bearer: { type: 'http', scheme: 'bearer' } },
  findSecret: ({ headers }) => /^Bearer +([^ ].*)$/i.exec(headers.authorization ?? '')?.[1],
});
