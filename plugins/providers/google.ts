/** Google's Gemini API; https://ai.google.dev/api. The URL holds the model and the operation. */
import { defineProvider, type Operation } from '../../core/index.ts';
import { checkUrlPath } from '../shared/cloud/url-path.ts';

function methodOf(operation: Operation, stream: boolean): string {
  if (operation === 'count') return 'countTokens';
  // Without `alt=sse` a stream is one array of JSON.
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

export const google = defineProvider({
  name: 'google',
  env: { key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL' },
  baseUrl: 'https://generativelanguage.googleapis.com',
  endpoints: {
    'generate-content': ({ model }, operation, stream) =>
      `/v1beta/models/${checkUrlPath(model.upstream)}:${methodOf(operation, stream)}`,
  },
  models: new URL('catalogue/google.json', import.meta.url),
  probe: { path: '/v1beta/models' },
  credential: (key) => ({ 'x-goog-api-key': key }),
});
