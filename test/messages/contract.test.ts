import { testProtocol } from '../contract/protocol.ts';
import { anyEvent, replyEvents } from './arbitrary-replies.ts';
import { requestBody } from './arbitrary.ts';
import { modelFor, protocol, sentBody, version } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/messages/', import.meta.url),
  headers: version,
  model: modelFor,
  sent: sentBody,
  arbitrary: { request: requestBody, reply: replyEvents, event: anyEvent },
});
