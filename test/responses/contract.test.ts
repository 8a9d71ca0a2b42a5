import { protocol } from '../../plugins/protocols/responses/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { requestBody } from './arbitrary.ts';
import { modelFor, sentBody } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/responses/', import.meta.url),
  model: modelFor,
  sent: sentBody,
  arbitrary: { request: requestBody, reply: replyEvents },
});
