/** NVIDIA NIM; https://docs.api.nvidia.com/nim. */
import { chatProvider } from '../shared/chat-provider.ts';

export const nvidia = chatProvider('nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1');
