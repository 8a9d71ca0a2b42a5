import { testProtocol } from '../contract/protocol.ts';
import { isObject } from '../support/json.ts';
import { requireModel, protocol } from './bodies.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/images/', import.meta.url),
  model: (body) => requireModel(isObject(body) ? String(body.model) : ''),
  sent: (body, { upstream }) => ({ ...(isObject(body) ? body : {}), model: upstream }),
});
