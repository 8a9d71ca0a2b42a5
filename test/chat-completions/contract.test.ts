import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { anyChunk, replyEvents } from './arbitrary-replies.ts';
import { requestBody } from './arbitrary.ts';
import { chooseModel, applyEdits, smallest } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/chat-completions/', import.meta.url),
  model: chooseModel,
  sent: applyEdits,
  arbitrary: {
    request: requestBody,
    reply: replyEvents,
    asking: (reply) => ({
      ...smallest,
      n: Math.max(1, reply.filter(({ type }) => type === 'finish').length),
      stream: true,
    }),
    event: anyChunk,
  },
});
