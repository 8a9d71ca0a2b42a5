/** Jina AI, whose models make embeddings and scores; https://api.jina.ai/redoc. */
import { defineProvider } from '../shared/provider/define-provider.ts';

export const jina = defineProvider({
  name: 'jina',
  env: { key: 'JINA_API_KEY', baseUrl: 'JINA_BASE_URL' },
  baseUrl: 'https://api.jina.ai/v1',
  endpoints: { 'jina-embed': '/embeddings', rerank: '/rerank' },
  models: new URL('catalogue/jina.json', import.meta.url),
  probe: { path: '/models' },
});
