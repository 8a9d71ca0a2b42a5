/** Models for tests, which state only what is special about them. */
import { checkModel, type Model, type ModelFacts } from '../../core/index.ts';

/** Makes models like the usual one, but for what is said otherwise. */
export function modelFrom({
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
      capabilities: { ...usual, ...capabilities },
    });
}
