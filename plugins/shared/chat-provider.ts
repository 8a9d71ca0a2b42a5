/** Makes a provider that speaks chat-completions as OpenAI does and lists its models at `/models`. */
import { defineProvider, type ProviderSpec } from './provider/define-provider.ts';

/** `prefix` begins its environment variables: `GROQ_API_KEY`, `GROQ_BASE_URL`. `own`: what differs. */
export function defineChatProvider(
  name: string,
  prefix: string,
  baseUrl: string | undefined,
  own?: Partial<ProviderSpec>,
): ReturnType<typeof defineProvider> {
  return defineProvider({
    name,
    env: { key: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` },
    ...(baseUrl === undefined ? {} : { baseUrl }),
    endpoints: { 'chat-completions': '/chat/completions' },
    models: new URL(`../providers/catalogue/${name}.json`, import.meta.url),
    probe: { path: '/models' },
    ...own,
  });
}
