/** Targets with prices of a test's choosing. */
import { checkModel, freePrice, type ModelFacts, type Target } from '../../core/index.ts';
import { plainProtocol } from '../support/plain-protocol.ts';
import { buildModelFacts } from '../support/test-provider.ts';

/** A target of `house/model` at the provider `name`: 1000 tokens of output at most. */
export function target(
  name: string,
  price: NonNullable<ModelFacts['price']>,
  facts: Partial<ModelFacts> = {},
): Target {
  const model = checkModel(buildModelFacts({ upstream: 'model', price, ...facts }));
  const provider = {
    name,
    endpoints: { plain: `http://${name}.invalid/` },
    sign: (request: Parameters<Target['provider']['sign']>[0]) => request,
  };
  return {
    provider,
    model,
    price: model.price ?? freePrice,
    protocol: plainProtocol,
  };
}
