/** The contract of protocols and its laws, for responses. */
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { chooseModel, applyEdits } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/responses/', import.meta.url),
  model: chooseModel,
  sent: applyEdits,
  arbitrary: { reply: replyEvents },
});
