/**
 * Where Azure takes calls. Its undated version has one address for all deployments, which are named in the body like
 * models; a dated one has an address for each, and its version in the query.
 */
import type { Endpoint, Provider } from '../../../core/index.ts';
import { urlPath } from '../../shared/url-path.ts';

export function endpointsAt(base: string, version: string | undefined): Provider['endpoints'] {
  const query = version === undefined || version === 'v1' ? '' : `?api-version=${version}`;
  const isDated = version !== undefined && /^\d{4}-/.test(version);
  const root = isDated ? `${base}/openai` : `${base}/openai/v1`;
  const chat: Endpoint = ({ model }) => `${root}${isDated ? `/deployments/${urlPath(model.upstream)}` : ''}/chat/completions${query}`;
  return {
    'chat-completions': chat,
    responses: (_target, operation) => `${root}/responses${operation === 'count' ? '/input_tokens' : ''}${query}`,
  };
}
