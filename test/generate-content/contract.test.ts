import { testProtocol } from '../contract/protocol.ts';
import { replyEvents, requestBody } from './arbitrary.ts';
import { matchOf, modelWith, protocol, smallest } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/generate-content/', import.meta.url),
  match: () => matchOf(),
  model: () => modelWith(),
  sent: (body) => body,
  arbitrary: {
    request: requestBody,
    reply: replyEvents,
    asking: (reply) => ({ ...smallest, generationConfig: { candidateCount: Math.max(1, reply.filter(({ type }) => type === 'finish').length) } }),
  },
});
