/** The example of a protocol keeps what every protocol has to. */
import { checkModel } from '../../core/index.ts';
import { protocol } from '../../examples/protocol.ts';
import { testProtocol } from '../contract/index.ts';

const facts = {
  id: 'house/answers',
  upstream: 'answers',
  name: 'Answers',
  description: 'For tests.',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text'],
  output: ['text'],
  free: true,
};

testProtocol({
  protocol,
  cases: new URL('ask/', import.meta.url),
  model: () => checkModel(facts),
  sent: (body, model) => ({
    stream: false,
    ...(typeof body === 'object' ? body : {}),
    model: model.upstream,
  }),
});
