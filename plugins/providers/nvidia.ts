/** NVIDIA NIM; https://docs.api.nvidia.com/nim. */
import { defineProvider } from '../../core/index.ts';

export const nvidia = defineProvider({
  name: 'nvidia',
  env: { key: 'NVIDIA_API_KEY', baseUrl: 'NVIDIA_BASE_URL' },
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/nvidia.json', import.meta.url),
  probe: { path: '/models' },
});
