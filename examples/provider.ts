/**
 * A provider of your own is data: where it speaks which protocol, what it is switched on by, and its models.
 * This one is a vendor on your own network that speaks chat-completions and lists its models itself.
 */
import { defineProvider } from 'tollgate';

export const inHouse = defineProvider({
  name: 'in-house',
  env: { key: 'IN_HOUSE_API_KEY', baseUrl: 'IN_HOUSE_BASE_URL' },
  endpoints: { 'chat-completions': '/chat/completions' },
  models: { discover: '/models' },
});
