/** Alibaba Cloud Model Studio (Qwen); https://www.alibabacloud.com/help/en/model-studio. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const alibaba = defineChatProvider(
  'alibaba',
  'DASHSCOPE',
  'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
);
