/** Makes a provider that speaks chat-completions as OpenAI does and lists its models at `/models`. */
import { defineProvider, type ProviderSpec } from './provider/define-provider.ts';

interface Own extends Partial<ProviderSpec> {
  /** Endpoints of calls that are no chats. */
  readonly besides?: ProviderSpec['endpoints'];
}

/** `prefix` begins its environment variables: `GROQ_API_KEY`, `GROQ_BASE_URL`. `own`: what differs. */
export function defineChatProvider(
  name: string,
  prefix: string,
  baseUrl: string | undefined,
  { besides, ...own }: Own = {},
): ReturnType<typeof defineProvider> {
  return defineProvider({
    name,
    env: { key: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` },
    ...(baseUrl === undefined ? {} : { baseUrl }),
    endpoints: { 'chat-completions': '/chat/completions', ...besides },
    models: new URL(`../providers/catalogue/${name}.json`, import.meta.url),
    probe: { path: '/models' },
    ...own,
  });
}
