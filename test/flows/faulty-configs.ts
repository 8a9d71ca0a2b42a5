/** Faulty configurations, and what the report of each must say. */

export const usual = ['bearer()', 'chatCompletions()', 'demo()', 'balance()'];
const buildPlugin = (name: string, rest: string): string => `{ name: '${name}', interface: 1, ${rest} }`;

const buildRoute = (rest: string): string =>
  buildPlugin(
    'mine',
    "apply: ({ routes }) => routes.add({ name: 'r', method: 'GET', access: 'public', encodeError: " +
      `() => ({ status: 500, body: '' }), handle: async () => ({ status: 200, body: '' }), ${rest} })`,
  );

export const buildVerb = (name: string, rest = ''): string =>
  `commands.add({ name: '${name}', description: '', run: async () => ({ json: 1, text: '' }) ${rest} });`;

export const buildVerbs = (...added: readonly string[]): string =>
  buildPlugin('mine', `apply({ commands }) { ${added.join(' ')} }`);

export const faults: readonly (readonly [
  what: string,
  plugins: readonly string[],
  message: string | RegExp,
  environment?: string,
])[] = [
  ['a misspelt option', ['demo({ pase: 3 })'], 'plugin "demo": unknown option "pase"; it has "pace"'],
  [
    'a wrong kind deep inside',
    ["rateLimits({ perKey: { requests: '60' } })"],
    /plugin "rate-limits": option "perKey.requests": .*number.*string/,
  ],
  ['a plugin twice', [...usual, 'bearer()'], 'the plugin "bearer" is listed twice'],
  [
    'a factory that was not called',
    [...usual, 'rateLimits'],
    'option "plugins.4": has to be a plugin, with a name (call its factory',
  ],
  [
    'a provider of a taken name',
    [
      ...usual,
      buildPlugin(
        'mine',
        "apply: (host) => host.providers.add({ name: 'demo', endpoints: {}, sign: (request) => request })",
      ),
    ],
    'plugin "mine": provider "demo" already exists',
  ],
  [
    "a console's host with a scheme",
    ["webConsole({ hosts: ['https://console.example.com'] })"],
    'plugin "console": option "hosts.0": has to be a host name without a scheme or port',
  ],
  [
    'a price that is a number',
    ["ollama({ price: { input: 0.2, output: '0.6' } })"],
    'plugin "ollama": option "price.rates.0.rate": an amount in USD is a decimal string, such as "0.20"',
  ],
  [
    'a price without a rate',
    ["ollama({ price: { input: '0.2' } })"],
    'plugin "ollama": option "price.rates": has no rate for output',
  ],
  [
    'a price with a comma',
    ["ollama({ price: { input: '0,2', output: '0.6' } })"],
    /option "price.rates.0.rate": is not a decimal number/,
  ],
  [
    'an address without its scheme',
    ["openai({ apiKey: 'k', baseUrl: 'localhost:1234' })"],
    'plugin "openai": option "baseUrl": has to be an address with its scheme, as https://host/v1',
  ],
  [
    'the same in a variable',
    ['openai()'],
    'plugin "openai": OPENAI_BASE_URL: has to be an address with its scheme',
    'OPENAI_API_KEY=k|OPENAI_BASE_URL=localhost:1234',
  ],
  [
    'the same in the variable of a cloud',
    ['azure()'],
    'plugin "azure": AZURE_OPENAI_ENDPOINT: has to be an address with its scheme',
    'AZURE_OPENAI_ENDPOINT=our.openai.azure.com',
  ],
  [
    'a place that is none',
    ['googleVertex()'],
    'plugin "google-vertex": GOOGLE_CLOUD_LOCATION: a location such as global or europe-west1',
    'GOOGLE_CLOUD_PROJECT=ours|GOOGLE_CLOUD_LOCATION=Belgium, west',
  ],
  [
    'a key that no header can hold',
    ["openai({ apiKey: 'sk-ключ' })"],
    'plugin "openai": option "apiKey": has to be a key: letters, digits and signs',
  ],
  [
    'such a key in a variable',
    ['openai()'],
    /plugin "openai": OPENAI_API_KEY: has to be a key: [^ключ]*$/,
    'OPENAI_API_KEY=sk-ключ',
  ],
  [
    'a time that no timer can wait',
    ["openai({ apiKey: 'k', timeouts: { reply: 1e9 } })"],
    /plugin "openai": option "timeouts.reply": .*2147483/,
  ],
  [
    'a variable that is no number',
    usual,
    'option "server.port": must be a number: check where it comes from',
    'PORT=abc',
  ],
  [
    'a plugin of a later interface',
    [...usual, "{ name: 'later', interface: 2, apply() {} }"],
    /plugin "later" was made for version 2 .*: update Tollgate/,
  ],
  ['a plugin without an import', [...usual, 'images()'], /images is not defined, at .*\d+\.config\.ts/],
  [
    'a plugin with a slip in it',
    [...usual, buildPlugin('broken', 'apply: (host) => host.hooks.reddy.tapPromise()')],
    /plugin "broken": Cannot read .* of undefined \(reading 'tapPromise'\), at .*apply .*\d+\.config\.ts/,
  ],
  [
    'a provider without what it has to have',
    [...usual, 'half()'],
    /: defineProvider of "half" lacks env, models$/,
    "import { defineProvider } from 'tollgate/kit';\n" +
      "const half = defineProvider({ name: 'half', endpoints: {} } as never);",
  ],
  [
    'a plugin that is applied later',
    [...usual, buildPlugin('late', "apply: async () => { await 1; throw new Error('too late'); }")],
    'plugin "late": "apply" returned a promise, which is not awaited; put slow work into the hook "ready"',
  ],
  ['brackets that do not match', ['['], /line \d+: /],
  [
    'a slip in a file that it imports',
    usual,
    /: \S+slip\.ts, line 3: Expression expected$/,
    "import { slip } from './slip.ts';",
  ],
  [
    'a name that a file it imports asks for in vain',
    usual,
    /: \S+vain\.ts, line 2: .*does not provide an export named 'missing'/,
    "import { vain } from './vain.ts';",
  ],
  [
    'an import of a file that is not there',
    usual,
    /Cannot find module '.*nope\.ts'/,
    "import { nope } from './nope.ts';",
  ],
  [
    'an import of a package that is not there',
    usual,
    "Cannot find package 'tollgate-nope'",
    "import { nope } from 'tollgate-nope';",
  ],
  [
    'a path that no route can have',
    [...usual, buildRoute("path: '/r/{x'")],
    /plugin "mine": route "r" cannot be reached: .*\{x/,
  ],
  [
    'a route where a protocol is',
    [...usual, buildRoute("path: '/v1/chat/completions', method: 'POST'")],
    'plugin "mine": route "r" cannot be reached: ' +
      'POST /v1/chat/completions is an endpoint of the protocol "chat-completions"',
  ],
  [
    'a route with unknown access',
    [...usual, buildRoute("path: '/r', access: 'users'")],
    'plugin "mine": route "r": "access" must be one of public, user, operator',
  ],
  [
    "a verb called like one of the gateway's own",
    [...usual, buildVerbs(buildVerb('start <slowly>'))],
    'plugin "mine": command "start <slowly>": "start" is one of the gateway\'s own verbs',
  ],
  [
    'a verb that is there',
    [...usual, buildVerbs(buildVerb('keys create <account>'))],
    'plugin "mine": command "keys create <account>": ' +
      'the verb "keys create" already belongs to the plugin "balance"',
  ],
  [
    'a verb twice',
    [...usual, buildVerbs(buildVerb('mill'), buildVerb('mill [wheel]'))],
    'plugin "mine": command "mill [wheel]": the verb "mill" already belongs to the plugin "mine"',
  ],
  [
    'an option that all verbs have',
    [...usual, buildVerbs(buildVerb('mill', ", options: [{ flags: '--json <file>', description: '' }]"))],
    'plugin "mine": command "mill": the option "--json <file>" exists on every verb',
  ],
  [
    'a transform that does not say when',
    [
      ...usual,
      buildPlugin(
        'mine',
        "apply: ({ hooks }) => hooks.transformRequest.tapPromise('mine', async (request) => request)",
      ),
    ],
    'plugin "mine": a tap on "transformRequest" has to say when it applies',
  ],
  [
    'an unchecked model',
    [
      ...usual,
      buildPlugin('mine', "apply: ({ catalog }) => catalog.offer({ name: 'mine' }, [{ id: 'mine/one' }])"),
    ],
    'plugin "mine": provider "mine" offers the model "mine/one" unchecked: pass checkModel(…) of it',
  ],
  [
    'a flag that the protocol does not know',
    [
      ...usual,
      buildPlugin(
        'mine',
        "apply: ({ catalog }) => catalog.offer({ name: 'mine', endpoints: {} }, [checkModel({ id: " +
          "'mine/one', upstream: 'one', name: 'One', description: '', created: '2026-01-01', " +
          "contextLength: 8, outputLimit: 8, input: ['text'], output: ['text'], free: true, " +
          "capabilities: { wire: { 'chat-completions': { extra: true } } } })])",
      ),
    ],
    'provider "mine": model "mine/one": capabilities.wire["chat-completions"]: Unrecognized key: "extra"',
    "import { checkModel } from 'tollgate';",
  ],
  [
    'a plugin without a name',
    [...usual, buildPlugin('', 'apply() {}')],
    'option "plugins.4": has to be a plugin, with a name',
  ],
  [
    'a family that is not there',
    ["bearer({ families: ['chat-completion'] })", ...usual.slice(1)],
    'plugin "bearer": option "families": "chat-completion" does not exist; these do: ' +
      'chat-completions, balance',
  ],
  [
    'PostgreSQL without its address',
    ["balance({ store: { kind: 'postgres' } })"],
    'plugin "balance": option "store.url": needs the address of the database, here or in TOLLGATE_LEDGER_URL',
  ],
  [
    'PostgreSQL without a data key',
    [
      'responses()',
      "balance({ store: { kind: 'postgres', url: 'postgres://user:word@127.0.0.1:1/books' } })",
    ],
    /plugin "responses": several gateways can share this ledger.*: set TOLLGATE_DATA_KEY to what `openssl/,
    "import { responses } from 'tollgate/plugins/protocols/responses';",
  ],
  [
    'a data key that is none',
    ["responses({ dataKey: 'secret word' })"],
    /option "dataKey": has to hold what `openssl rand -base64 32` prints(?!.*secret word)/,
    "import { responses } from 'tollgate/plugins/protocols/responses';",
  ],
];
