/** A provider as somebody else publishes it, in plain JavaScript: data, and a catalogue beside it. */
import { defineProvider } from 'tollgate/kit';

export { GatewayError } from 'tollgate';

export const harbour = defineProvider({
  name: 'harbour',
  env: { key: 'HARBOUR_API_KEY', baseUrl: 'HARBOUR_BASE_URL' },
  baseUrl: 'https://harbour.invalid/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue.json', import.meta.url),
});
