/** What key holders read of their key and its calls, for the OpenAPI document. */
import type { Description } from '../../../../core/index.ts';
import { describeJson } from '../../../shared/operator-description.ts';
import { ownCall } from '../../../shared/replies/calls.ts';
import { ownKey as ownKeyReply } from '../../../shared/replies/spending.ts';
import { describeList } from '../../../shared/replies/values.ts';
import { errorSchema } from '../../../shared/wire-kit/reply-schemas.ts';
import { ownCallQuery } from '../operator/calls.ts';
import { keyQuery } from '../own-key.ts';

export const ownCalls: Description = {
  summary: 'Ended calls of the key, newest first',
  query: ownCallQuery,
  replies: { 200: describeJson(describeList(ownCall)) },
  error: errorSchema,
};

export const ownKey: Description = {
  summary: 'Balance, limits, budgets and usage of the key',
  query: keyQuery,
  replies: { 200: describeJson(ownKeyReply) },
  error: errorSchema,
};
