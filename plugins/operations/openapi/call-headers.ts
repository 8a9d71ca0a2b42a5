/** The gateway's own request headers, which calls of every protocol can have. */
import { mostTags, tagsHeader } from '../../../core/index.ts';

export const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A call repeated with the same key gets the stored reply; it is neither made nor charged twice.',
  schema: { type: 'string' },
};

const tags = {
  name: tagsHeader,
  in: 'header',
  required: false,
  description: `What the call counts for, as \`team:search,research\`: at most ${mostTags} tags.`,
  schema: { type: 'string' },
};

const cost = {
  name: 'x-tollgate-cost',
  in: 'header',
  required: false,
  description:
    'With `reply` the usage of the reply has the `cost` in USD, also at the end of a stream that has usage.',
  schema: { type: 'string', enum: ['reply'] },
};

export const headerParameters = [tags, cost];
