/** Providers made for one test: their models, URLs, protocols and prices. */
import { z } from 'zod';
import { checkModel, definePlugin, type Endpoint, type ModelFacts, type Plugin } from '../../core/index.ts';

export interface TestProvider {
  readonly name: string;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /** The facts of each model beyond the minimum. */
  readonly models?: readonly Partial<ModelFacts>[];
  /** Whether it routes calls itself, as OpenRouter does. */
  readonly routes?: boolean;
}

export function buildModelFacts(facts: Partial<ModelFacts> = {}): ModelFacts {
  return {
    id: 'house/model',
    upstream: 'upstream-model',
    name: 'Model',
    description: 'A model.',
    created: '2026-01-01',
    contextLength: 100_000,
    outputLimit: 1000,
    input: ['text'],
    output: ['text'],
    ...(facts.free ? {} : { price: { input: '1', output: '2' } }),
    ...facts,
  };
}

/** A plugin that registers the provider; it signs nothing. */
export function testProvider({ name, endpoints, models = [{}], routes }: TestProvider): Plugin {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const provider = { name, endpoints, routes, sign: <Request>(request: Request): Request => request };
      host.providers.add(provider);
      host.catalog.offer(
        provider,
        models.map((facts) => checkModel(buildModelFacts(facts))),
      );
    },
  })();
}

/** Authenticates everyone. */
export const acceptAnyKey = definePlugin({
  name: 'open-doors',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.authenticate.tapPromise('open-doors', async () => ({
      kind: 'user',
      account: 'tester',
      key: 'key-1',
    }));
  },
});
