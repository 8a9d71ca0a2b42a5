/** Models for tests, which state only what is special about them. */
import { checkModel, type Model, type ModelFacts } from '../../core/index.ts';

type Wires = NonNullable<NonNullable<ModelFacts['capabilities']>['wire']>;

/** The flags of each protocol, where a test's own replace the usual ones one by one. */
function mergeWires(usual: Wires = {}, own: Wires = {}): Wires {
  const protocols = new Set([...Object.keys(usual), ...Object.keys(own)]);
  return Object.fromEntries(
    [...protocols].map((protocol) => [protocol, { ...usual[protocol], ...own[protocol] }]),
  );
}

/** Makes models like the usual one, except for the stated differences. */
export function createModelFactory({
  capabilities: usual,
  ...common
}: Partial<ModelFacts>): (facts?: Partial<ModelFacts>) => Model {
  return ({ capabilities, ...facts } = {}) =>
    checkModel({
      name: 'A model',
      description: 'For tests.',
      created: '2026-04-23',
      contextLength: 200_000,
      outputLimit: 32_000,
      output: ['text'],
      ...(facts.price ? {} : { free: true }),
      ...common,
      ...facts,
      capabilities: { ...usual, ...capabilities, wire: mergeWires(usual?.wire, capabilities?.wire) },
    });
}
