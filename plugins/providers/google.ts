/** Google's Gemini API; https://ai.google.dev/api. The URL holds the model and the operation. */
import { buildGeminiPath, checkUrlPath } from '../shared/cloud/address.ts';
import { defineProvider } from '../shared/provider/define-provider.ts';

export const google = defineProvider({
  name: 'google',
  env: { key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL' },
  baseUrl: 'https://generativelanguage.googleapis.com',
  endpoints: {
    'generate-content': (...call) => `/v1beta/${buildGeminiPath(...call)}`,
    'embed-content': ({ model }) => `/v1beta/models/${checkUrlPath(model.upstream)}:batchEmbedContents`,
  },
  models: new URL('catalogue/google.json', import.meta.url),
  probe: { path: '/v1beta/models' },
  buildCredential: (key) => ({ 'x-goog-api-key': key }),
});
