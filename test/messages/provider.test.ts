import { expect, it } from 'vitest';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { createHost } from '../support/host.ts';

it('the catalogue states how every model of Anthropic reasons', () => {
  const models = createHost([anthropic({ apiKey: 'vendor-key' })]).catalog.listModels();
  expect(models.length).toBeGreaterThan(5);
  for (const { id, capabilities } of models)
    expect(['none', 'budget', 'adaptive'], id).toContain(capabilities.reasoning.style);
});
