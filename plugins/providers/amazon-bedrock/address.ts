/** Where Bedrock takes calls: below the model, whose name holds colons. */
import type { Operation, Provider } from '../../../core/index.ts';

function methodOf(operation: Operation, stream: boolean): string {
  if (operation === 'count') return 'count-tokens';
  return stream ? 'invoke-with-response-stream' : 'invoke';
}

/** Tokens are counted by the model itself: a profile of several regions has no counts. */
function nameFor(operation: Operation, upstream: string): string {
  return encodeURIComponent(operation === 'count' ? upstream.replace(/^[a-z]+\.(?=anthropic\.)/, '') : upstream);
}

/** Where Bedrock lists its models: at another host than the one that runs them. */
export function listingAt(base: string): string {
  return `${base.replace('//bedrock-runtime.', '//bedrock.')}/foundation-models`;
}

export function endpointsAt(base: string): Provider['endpoints'] {
  return { messages: ({ model }, operation, stream) => `${base}/model/${nameFor(operation, model.upstream)}/${methodOf(operation, stream)}` };
}
