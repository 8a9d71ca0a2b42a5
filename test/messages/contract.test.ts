import { testProtocol } from '../contract/protocol.ts';
import { anyEvent, replyEvents } from './arbitrary-replies.ts';
import { requestBody } from './arbitrary.ts';
import { chooseModel, protocol, applyEdits, version } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/messages/', import.meta.url),
  headers: version,
  model: chooseModel,
  sent: applyEdits,
  arbitrary: { request: requestBody, reply: replyEvents, event: anyEvent },
});
