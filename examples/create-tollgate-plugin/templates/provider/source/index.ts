/** A provider that speaks chat completions. Change its address, its paths and what its models cost. */
import { defineProvider } from 'tollgate/kit';

export const myPlugin = defineProvider({
  name: 'my-plugin',
  env: { key: 'MY_PLUGIN_API_KEY', baseUrl: 'MY_PLUGIN_BASE_URL' },
  baseUrl: 'https://api.my-plugin.example/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  // The gateway asks the vendor for its models. Those that it lists without a price need the option `price`.
  models: { discover: '/models' },
});
