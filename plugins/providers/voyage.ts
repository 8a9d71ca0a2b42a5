/** Voyage AI, whose models make embeddings and scores; https://docs.voyageai.com/reference/embeddings-api. */
import { defineProvider } from '../shared/provider/define-provider.ts';

export const voyage = defineProvider({
  name: 'voyage',
  env: { key: 'VOYAGE_API_KEY', baseUrl: 'VOYAGE_BASE_URL' },
  baseUrl: 'https://api.voyageai.com/v1',
  endpoints: { 'voyage-embed': '/embeddings', 'voyage-rerank': '/rerank' },
  models: new URL('catalogue/voyage.json', import.meta.url),
  probe: { path: '/files' },
});
