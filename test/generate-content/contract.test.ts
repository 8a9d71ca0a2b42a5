import { testProtocol } from '../contract/protocol.ts';
import { isObject } from '../support/json.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { requestBody } from './arbitrary.ts';
import { makeCall, makeMatch, makeModel, older, protocol, showingThoughts, smallest } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/generate-content/', import.meta.url),
  match: () => makeMatch(),
  // A call without a signature passes unchanged only to models that need none.
  model: (body) => (isObject(body) && makeCall(body).suits?.(makeModel()) ? makeModel() : older),
  sent: (body) => body,
  arbitrary: {
    request: requestBody,
    reply: replyEvents,
    asking: (reply) => ({
      ...smallest,
      generationConfig: {
        ...showingThoughts.generationConfig,
        candidateCount: Math.max(1, reply.filter(({ type }) => type === 'finish').length),
      },
    }),
  },
});
