/** Alibaba Cloud Model Studio (Qwen); https://www.alibabacloud.com/help/en/model-studio. */
import { chatProvider } from '../shared/chat-provider.ts';

export const alibaba = chatProvider(
  'alibaba',
  'DASHSCOPE',
  'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
);
