/**
 * OpenRouter; https://openrouter.ai/docs/api-reference. Its list of models states their prices and changes
 * daily, so it is read from the vendor.
 */
import { defineProvider } from '../../core/index.ts';

export const openrouter = defineProvider({
  name: 'openrouter',
  env: { key: 'OPENROUTER_API_KEY', baseUrl: 'OPENROUTER_BASE_URL' },
  baseUrl: 'https://openrouter.ai/api/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: { discover: '/models' },
  // Its list of models is public, so the key is probed at another address.
  probe: { path: '/key' },
});
