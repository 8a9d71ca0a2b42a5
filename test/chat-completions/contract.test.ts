/** The contract of protocols and its laws, for chat completions. */
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { recombine } from '../contract/recombination.ts';
import { readRequests } from '../support/golden.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { chooseModel, applyEdits, smallest } from './bodies.ts';

/** What one vendor sealed is lost at another, so all of it is of one. */
const ofOneVendor = readRequests('chat-completions').map((body): unknown => ({
  ...JSON.parse(
    JSON.stringify(body)
      .replaceAll('anthropic-claude-v1', 'openai-responses-v1')
      .replaceAll('"google":{"thought_signature"', '"openai":{"thought_signature"'),
  ),
  model: smallest.model,
}));

testProtocol({
  protocol,
  cases: new URL('../golden/chat-completions/', import.meta.url),
  model: chooseModel,
  sent: applyEdits,
  arbitrary: {
    request: recombine(ofOneVendor),
    reply: replyEvents,
    asking: (reply) => ({
      ...smallest,
      n: Math.max(1, reply.filter(({ type }) => type === 'finish').length),
      stream: true,
    }),
  },
});
