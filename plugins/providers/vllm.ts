/** vLLM on a machine of one's own: on once `VLLM_BASE_URL` is set, with `/v1`: `http://127.0.0.1:8000/v1`. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const vllm = defineChatProvider('vllm', 'VLLM', undefined, {
  besides: {
    completions: '/completions',
    embeddings: '/embeddings',
    rerank: '/rerank',
    // For Text Embeddings Inference, which serves its other calls as vLLM does.
    'tei-rerank': '/../rerank',
  },
  models: { discover: '/models' },
  // It may load the model first.
  patience: { firstEvent: 300_000, reply: 600_000 },
});
