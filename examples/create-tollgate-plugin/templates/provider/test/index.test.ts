/** The provider keeps what every provider has to. */
import { testProvider } from 'tollgate/testing';
import { myPlugin } from '../source/index.ts';

testProvider({
  name: 'my-plugin',
  plugin: () => myPlugin({ price: { input: '1', output: '2' } }),
  env: { key: 'MY_PLUGIN_API_KEY', baseUrl: 'MY_PLUGIN_BASE_URL' },
  address: 'https://api.my-plugin.example/v1',
  paths: { 'chat-completions': { generate: '/chat/completions' } },
  credential: { authorization: 'Bearer vendor-key' },
  models: { discover: '/models' },
});
