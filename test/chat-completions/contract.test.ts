import { testProtocol } from '../contract/protocol.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { modelFor, sentBody } from './bodies.ts';

testProtocol({ protocol, golden: new URL('../golden/chat-completions/', import.meta.url), model: modelFor, sent: sentBody });
