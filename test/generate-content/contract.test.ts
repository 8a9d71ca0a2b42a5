import { testProtocol } from '../contract/protocol.ts';
import { matchOf, modelWith, protocol } from './bodies.ts';

testProtocol({ protocol, golden: new URL('../golden/generate-content/', import.meta.url), match: () => matchOf(), model: () => modelWith(), sent: (body) => body });
