/** A free model for tests that need any model. */
import type { ModelFacts } from '../../core/index.ts';

export const houseModel: ModelFacts = {
  id: 'house/model',
  upstream: 'm',
  name: 'M',
  description: 'M.',
  created: '2026-01-01',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text'],
  output: ['text'],
  free: true,
};
