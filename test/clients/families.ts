/**
 * SDKs and frameworks in Python that embed, rank, judge and complete through the gateway, each of which has
 * to find the right text. It prints a row for the table of `test/README.md`.
 */
import { installPackages } from './packages.ts';
import { openWordGateway } from './word-gateway.ts';

const sdks = ['openai', 'cohere', 'google-genai', 'voyageai', 'langchain-openai', 'langchain-cohere'];
const packages = await installPackages(
  'families',
  [...sdks, 'llama-index-core', 'llama-index-embeddings-openai'],
  // For its table of tokens.
  { bare: ['litellm'] },
);
const { gateway, key, close } = await openWordGateway();
const env = { ...process.env, URL: gateway.url, KEY: key };

const cases = [
  ...['openai', 'google', 'langchain', 'llama_index'].flatMap((way) => [
    [way, 'house/same'],
    [way, 'house/other'],
  ]),
  // OpenAI would refuse fields of Voyage's, which go on to a vendor of the same wire.
  ['voyage', 'house/other'],
  ['tokens', 'house/tokens'],
  ['langchain_tokens', 'house/tokens'],
  ['cohere', 'demo/rank'],
  ['langchain_cohere', 'demo/rank'],
];

let faulty = 0;
for (const each of cases) {
  const said = await packages
    .runFile('families.py', each, env)
    .catch((error: unknown) => String(error).slice(-600));
  if (said !== 'well') faulty += 1;
  process.stdout.write(`${each.join(', ')}: ${said}\n`);
}
await close();
packages.finish(cases.length - faulty, cases.length);
