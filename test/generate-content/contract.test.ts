import fc from 'fast-check';
import { testProtocol } from '../contract/protocol.ts';
import { recombine } from '../contract/recombination.ts';
import { readRequests } from '../support/golden.ts';
import { isObject } from '../support/json.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { makeCall, makeMatch, makeModel, older, protocol, showingThoughts, smallest } from './bodies.ts';

/** Writes this wire's own names in snake_case in every second object. */
function writeSnakeCase(value: unknown, turn: { count: number }): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => writeSnakeCase(each, turn));
  if (typeof value !== 'object' || value === null) return value;
  turn.count += 1;
  const rename = turn.count % 2 === 0;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const closed = [
        'args',
        'response',
        'labels',
        'parameters',
        'parametersJsonSchema',
        'responseSchema',
        'responseJsonSchema',
      ].includes(name);
      return [
        rename ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name,
        closed ? inner : writeSnakeCase(inner, turn),
      ];
    }),
  );
}

const requestBody = fc
  .tuple(recombine(readRequests('generate-content')), fc.boolean())
  .map(([body, snake]) => (snake ? writeSnakeCase(body, { count: 0 }) : body));

testProtocol({
  protocol,
  cases: new URL('../golden/generate-content/', import.meta.url),
  match: () => makeMatch(),
  // A call without a signature passes unchanged only to models that need none.
  model: (body) => (isObject(body) && makeCall(body).suits?.(makeModel()) ? makeModel() : older),
  sent: (body) => body,
  arbitrary: {
    request: requestBody,
    reply: replyEvents,
    asking: (reply) => ({
      ...smallest,
      generationConfig: {
        ...showingThoughts.generationConfig,
        candidateCount: Math.max(1, reply.filter(({ type }) => type === 'finish').length),
      },
    }),
  },
});
