/** The example of a provider keeps what every provider has to. */
import { inHouse } from '../../examples/provider.ts';
import { testProvider } from '../contract/index.ts';

testProvider({
  name: 'in-house',
  plugin: () => inHouse({ free: true }),
  keyless: true,
  env: { key: 'IN_HOUSE_API_KEY', baseUrl: 'IN_HOUSE_BASE_URL' },
  address: 'http://127.0.0.1:8000/v1',
  paths: { 'chat-completions': { generate: '/chat/completions' } },
  credential: { authorization: 'Bearer vendor-key' },
  models: { discover: '/models' },
});
