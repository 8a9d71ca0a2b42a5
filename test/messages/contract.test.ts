import { testProtocol } from '../contract/protocol.ts';
import { modelFor, protocol, sentBody, version } from './bodies.ts';

testProtocol({ protocol, golden: new URL('../golden/messages/', import.meta.url), headers: version, model: modelFor, sent: sentBody });
