/** Alibaba Cloud Model Studio (Qwen); https://www.alibabacloud.com/help/en/model-studio. */
import { defineProvider } from '../../core/index.ts';

export const alibaba = defineProvider({
  name: 'alibaba',
  env: { key: 'DASHSCOPE_API_KEY', baseUrl: 'DASHSCOPE_BASE_URL' },
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/alibaba.json', import.meta.url),
  probe: { path: '/models' },
});
