/**
 * Where Bedrock takes calls. For Claude the path holds the model, whose name has colons. OpenAI's and open
 * models are served as OpenAI does.
 */
import type { Operation, Provider } from '../../../core/index.ts';

function toMethod(operation: Operation, stream: boolean): string {
  if (operation === 'count') return 'count-tokens';
  return stream ? 'invoke-with-response-stream' : 'invoke';
}

/** The name in the path. Tokens are counted by the plain model: a profile of several regions cannot count. */
function toPathName(operation: Operation, upstream: string): string {
  return encodeURIComponent(
    operation === 'count' ? upstream.replace(/^[a-z]+\.(?=anthropic\.)/, '') : upstream,
  );
}

/** Where Bedrock lists its models, which is another host than the one that runs them. */
export function buildListingAddress(base: string): string {
  return `${base.replace('//bedrock-runtime.', '//bedrock.')}/foundation-models`;
}

export function buildEndpoints(base: string): Provider['endpoints'] {
  const openai = `${base}/openai/v1`;
  return {
    'chat-completions': `${openai}/chat/completions`,
    responses: (_target, operation) => `${openai}/responses${operation === 'count' ? '/input_tokens' : ''}`,
    messages: ({ model }, operation, stream) =>
      `${base}/model/${toPathName(operation, model.upstream)}/${toMethod(operation, stream)}`,
  };
}
