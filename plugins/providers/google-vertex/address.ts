/** Where Vertex takes calls: below project, location and publisher, by model and method. */
import type { Operation, Provider } from '../../../core/index.ts';
import { urlPath } from '../../shared/url-path.ts';
import type { Place } from './options.ts';

function geminiMethod(operation: Operation, stream: boolean): string {
  if (operation === 'count') return 'countTokens';
  // Without `alt=sse` a stream is one array of JSON.
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** A count that costs nothing, for whoever wants to know whether calls would be taken: address and body. */
export function countAt({ base, project, location }: Place, model: string): { url: string; body: string } {
  const url = `${base}/v1/projects/${project}/locations/${location}/publishers/google/models/${model}:countTokens`;
  return { url, body: '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}' };
}

export function endpointsAt({ base, project, location }: Place): Provider['endpoints'] {
  const publishers = `${base}/v1/projects/${project}/locations/${location}/publishers`;
  return {
    'generate-content': ({ model }, operation, stream) => `${publishers}/google/models/${urlPath(model.upstream)}:${geminiMethod(operation, stream)}`,
    messages({ model }, operation, stream) {
      // Its counts are a model of their own, and name the one they are for in the body.
      const name = operation === 'count' ? 'count-tokens' : urlPath(model.upstream);
      return `${publishers}/anthropic/models/${name}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
    },
  };
}
