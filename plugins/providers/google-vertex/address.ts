/** Where Vertex takes calls: the path holds project, location, publisher, model and method. */
import type { Provider } from '../../../core/index.ts';
import { checkUrlPath, buildGeminiPath } from '../../shared/cloud/url-path.ts';
import type { Place } from './options.ts';

/** Address and body of a count, which costs nothing, to find out whether calls would be accepted. */
export function buildCountRequest(
  { base, project, location }: Place,
  model: string,
): { url: string; body: string } {
  const place = `${base}/v1/projects/${project}/locations/${location}`;
  const url = `${place}/publishers/google/models/${model}:countTokens`;
  return { url, body: '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}' };
}

export function buildEndpoints({ base, project, location }: Place): Provider['endpoints'] {
  const place = `${base}/v1/projects/${project}/locations/${location}`;
  const publishers = `${place}/publishers`;
  return {
    // Open models; the body names them.
    'chat-completions': `${place}/endpoints/openapi/chat/completions`,
    'generate-content': (...call) => `${publishers}/google/${buildGeminiPath(...call)}`,
    messages({ model }, operation, stream) {
      // Counting has a model of its own; the body names the model to count for.
      const name = operation === 'count' ? 'count-tokens' : checkUrlPath(model.upstream);
      return `${publishers}/anthropic/models/${name}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
    },
  };
}
