/**
 * A provider of your own is data: the variables that switch it on, where it speaks which protocol, and its
 * models. This one is a server in your own network that speaks chat-completions and lists its models itself.
 */
import { defineProvider } from 'tollgate/kit';

export const inHouse = defineProvider({
  name: 'in-house',
  env: { key: 'IN_HOUSE_API_KEY', baseUrl: 'IN_HOUSE_BASE_URL' },
  endpoints: { 'chat-completions': '/chat/completions' },
  models: { discover: '/models' },
});
