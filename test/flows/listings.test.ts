/**
 * The public listings over real sockets, in every protocol's format: all models, one owner's, and a single
 * one, with every way to write a slash; and models that a provider lists itself.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { CursorPage } from 'openai/pagination';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pluginInterface, type Catalog, type Host } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { openrouter } from '../../plugins/providers/openrouter.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { makeDataFolder, runVerb } from '../support/process.ts';
import { serve, type Served } from '../support/serve.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const secret = 'sk-canary-of-the-vendor';
const upstream = 'http://upstream-canary.invalid/v1';
const gone = { id: 'house/old', expires: '2020-01-31', successor: 'house/model' };
let gateway: TestGateway;

/** A key that may call only the models of one owner. */
let limitedKey: string;

function openListings(): void {
  beforeAll(async () => {
    gateway = await startGateway({
      plugins: [
        bearer(),
        acceptAnyKey(),
        balance({ firstCredit: '0' }),
        chatCompletions(),
        messages(),
        generateContent(),
        openai({ apiKey: secret, baseUrl: upstream }),
        deepseek({ apiKey: [secret, `${secret}-2`], baseUrl: upstream }),
        testProvider({
          name: 'provider-canary',
          endpoints: { 'chat-completions': upstream },
          models: [
            { upstream: 'inner-canary', aliases: ['house/alias'] },
            { id: 'house/family/deep:free', upstream: 'inner-canary-2', expires: '2099-12-31' },
            gone,
          ],
        }),
      ],
    });
    limitedKey = await gateway.newKey({ models: 'deepseek/*' });
  });
}

openListings();

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: unknown; text: string }> {
  const response = await fetch(gateway.url + path, { headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

const families = [
  {
    path: '/alpha/v1/models',
    list: 'data',
    id: 'id',
    prefix: '',
    error: { type: 'error', error: { type: 'not_found_error' } },
  },
  {
    path: '/beta/v1beta/models',
    list: 'models',
    id: 'name',
    prefix: 'models/',
    error: { error: { code: 404, status: 'NOT_FOUND' } },
  },
] as const;

function getList(body: unknown, list: string): Record<string, unknown>[] {
  return Object(body)[list];
}

describe.each(families)('$path', ({ path, list, id, prefix, error }) => {
  it('needs no key and lists every model', async () => {
    const { status, headers, body } = await get(path);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const models = getList(body, list);
    expect(models.length).toBeGreaterThan(30);
    const owners = new Set(models.map((each) => String(each[id]).slice(prefix.length).split('/')[0]));
    expect([...owners].toSorted()).toEqual(['deepseek', 'house', 'openai']);
  });

  it("lists one provider's models under its name", async () => {
    const { body } = await get(`${path}/house`);
    expect(getList(body, list).map((each) => each[id])).toEqual([
      `${prefix}house/model`,
      `${prefix}house/family/deep:free`,
    ]);
  });

  it.each(['house/family/deep:free', 'house%2Ffamily%2Fdeep:free', 'house/family%2Fdeep%3Afree'])(
    'returns one model under %s',
    async (name) => {
      const { status, body } = await get(`${path}/${name}`);
      expect([status, body]).toMatchObject([200, { [id]: `${prefix}house/family/deep:free` }]);
    },
  );

  it('finds a model by its alias', async () => {
    expect((await get(`${path}/house/alias`)).body).toMatchObject({ [id]: `${prefix}house/model` });
  });

  it.each(['unknown', 'house/nothing', 'unknown/model', 'house%2Fnothing'])(
    'answers that there is no %s, in the format of the protocol',
    async (name) => {
      const { status, body } = await get(`${path}/${name}`);
      expect([status, body]).toMatchObject([404, error]);
    },
  );

  it('omits a model past its shutdown date, and names its successor', async () => {
    const { status, text } = await get(`${path}/${gone.id}`);
    expect([status, text]).toEqual([
      404,
      expect.stringContaining('was withdrawn after 2020-01-31. Use \\"house/model\\" instead.'),
    ]);
    expect((await get(path)).text).not.toContain(gone.id);
  });

  it('reveals nothing of providers, their names for models, or keys', async () => {
    for (const at of [path, `${path}/house`, `${path}/house/model`, `${path}/deepseek/deepseek-v4-pro`]) {
      expect((await get(at)).text).not.toMatch(/canary|credential/);
    }
  });

  it('is sent once to a client that caches it', async () => {
    for (const at of [path, `${path}/openai`, `${path}/openai/gpt-5`]) {
      const { headers } = await get(at);
      const again = await get(at, { 'if-none-match': String(headers.get('etag')) });
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', headers.get('etag')]);
    }
  });

  it('shows a key that is limited to some models only those, and everyone else all', async () => {
    const authorization = `Bearer ${limitedKey}`;
    const listIds = async (headers: Record<string, string>): Promise<string[]> => {
      const { status, body } = await get(path, headers);
      expect(status).toBe(200);
      return getList(body, list).map((each) => String(each[id]).slice(prefix.length));
    };
    const all = await listIds({});
    const own = await listIds({ authorization });
    expect(own).toEqual(all.filter((name) => name.startsWith('deepseek/')));
    expect(own.length).toBeGreaterThan(0);
    expect(await listIds({ authorization: 'Bearer sk-unknown' })).toEqual(all);
    expect((await get(`${path}/openai/gpt-5.5`, { authorization })).status).toBe(404);
    expect((await get(`${path}/openai/gpt-5.5`)).status).toBe(200);
    expect((await get(`${path}/deepseek/deepseek-v4-pro`, { authorization })).status).toBe(200);
  });

  it('answers HEAD with the head alone', async () => {
    const response = await fetch(gateway.url + path, { method: 'HEAD' });
    expect([
      response.status,
      Number(response.headers.get('content-length')) > 10_000,
      await response.text(),
    ]).toEqual([200, true, '']);
  });
});

const styles = [
  ['/v1/models', 'data', 'id', 'limit', 'after'],
  ['/alpha/v1/models', 'data', 'id', 'limit', 'after_id'],
  ['/beta/v1beta/models', 'models', 'name', 'pageSize', 'pageToken'],
] as const;
const listAll = async (path: string, list: string): Promise<Record<string, unknown>[]> =>
  getList((await get(path)).body, list);

it.each(styles)(
  'pages of %s follow each other, and are the whole listing',
  async (path, list, id, size, cursor) => {
    const all = await listAll(path, list);
    const first = await get(`${path}?${size}=7`);
    const readCursor = ({ body }: { body: unknown }): string =>
      String(Object(body)[list === 'models' ? 'nextPageToken' : 'last_id']);
    const second = await get(`${path}?${size}=7&${cursor}=${encodeURIComponent(readCursor(first))}`);
    expect([...getList(first.body, list), ...getList(second.body, list)]).toEqual(all.slice(0, 14));
    const rest = await get(`${path}?${cursor}=${encodeURIComponent(readCursor(first))}`);
    expect(getList(rest.body, list)).toEqual(all.slice(7));
    expect(rest.body).not.toHaveProperty('nextPageToken');
    expect(getList((await get(`${path}?${size}=1000`)).body, list)).toEqual(all);
    expect((await get(`${path}?other=1`)).text).toBe((await get(path)).text);
    expect(all[0]).toHaveProperty(id);
  },
);

it('pages of messages go back from an id, and say whether more precedes', async () => {
  const all = (await listAll('/alpha/v1/models', 'data')).map(({ id }) => String(id));
  const read = async (query: string): Promise<unknown> =>
    JSON.parse((await get(`/alpha/v1/models?${query}`)).text, (_key, value: unknown) =>
      typeof value === 'object' && value !== null && 'id' in value ? value.id : value,
    );
  expect(await read(`before_id=${all[5]}&limit=3`)).toEqual({
    data: all.slice(2, 5),
    has_more: true,
    first_id: all[2],
    last_id: all[4],
  });
  expect(await read(`before_id=${all[2]}&limit=3`)).toMatchObject({
    data: all.slice(0, 2),
    has_more: false,
  });
  expect(await read(`after_id=${all.at(-1)}`)).toEqual({
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

it("pages of an owner and of a key's own models hold only those", async () => {
  const { body } = await get('/alpha/v1/models/house?limit=1');
  expect(body).toMatchObject({ data: [{ id: 'house/model' }], has_more: true });
  const authorization = `Bearer ${limitedKey}`;
  const own = getList((await get('/v1/models', { authorization })).body, 'data');
  const page = await get('/v1/models?limit=1', { authorization });
  expect(page.body).toMatchObject({ data: [own[0]], last_id: own[0]?.['id'] });
  expect((await get('/v1/models?after=openai%2Fgpt-5', { authorization })).status).toBe(400);
});

/** What Codex 0.171 requires of each entry: it refuses a list without one of these. */
const codexEntry = z.looseObject({
  slug: z.string(),
  display_name: z.string(),
  supported_reasoning_levels: z.array(
    z.object({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
      description: z.string(),
    }),
  ),
  shell_type: z.enum(['shell_command', 'unified_exec', 'default', 'local', 'disabled']),
  visibility: z.enum(['list', 'hide', 'none']),
  supported_in_api: z.literal(true),
  priority: z.int(),
  support_verbosity: z.boolean(),
  truncation_policy: z.object({ mode: z.enum(['bytes', 'tokens']), limit: z.int() }),
  experimental_supported_tools: z.array(z.string()),
  base_instructions: z.string().min(1),
  use_responses_lite: z.literal(false),
  context_window: z.int().positive(),
  auto_compact_token_limit: z.int().positive(),
});

it.each(['/v1/models', '/models'])(
  'the listing at %s has an entry for Codex of each model that answers in text',
  async (path) => {
    const { body } = await get(`${path}?client_version=0.171.0`);
    const entries = z.array(codexEntry).parse(getList(body, 'models'));
    const data = z
      .array(z.object({ id: z.string(), context_length: z.int(), architecture: z.looseObject({}) }))
      .parse(getList(body, 'data'));
    const spoken = data.filter(({ architecture }) => /->.*text/.test(String(architecture['modality'])));
    expect(entries.length).toBeLessThan(data.length);
    expect(entries.map(({ slug, context_window: window }) => [slug, window])).toEqual(
      spoken.map(({ id, context_length: length }) => [id, length]),
    );
    for (const { context_window: window, auto_compact_token_limit: most } of entries)
      expect(most).toBeLessThan(window);
    expect(entries.find(({ slug }) => slug === 'openai/gpt-5')).toMatchObject({
      supported_reasoning_levels: ['minimal', 'low', 'medium', 'high'].map((effort) => ({
        effort,
        description: '',
      })),
      default_reasoning_level: 'medium',
      input_modalities: ['text', 'image'],
      supports_parallel_tool_calls: true,
    });
    expect(entries.find(({ slug }) => slug === 'house/model')).toMatchObject({
      supported_reasoning_levels: [],
      default_reasoning_level: null,
      input_modalities: ['text'],
    });
  },
);

it('the entries for Codex are the models that the key may call, and no other client gets any', async () => {
  const limited = await get('/v1/models?client_version=1', { authorization: `Bearer ${limitedKey}` });
  const slugs = z.array(codexEntry).parse(getList(limited.body, 'models'));
  expect(slugs.length).toBeGreaterThan(0);
  expect(slugs.every(({ slug }) => slug.startsWith('deepseek/'))).toBe(true);
  expect((await get('/v1/models')).body).not.toHaveProperty('models');
  expect((await get('/alpha/v1/models?client_version=1')).body).not.toHaveProperty('models');
});

it('pages are sent once to a client that caches them', async () => {
  const { headers } = await get('/v1/models?limit=3');
  const again = await get('/v1/models?limit=3', { 'if-none-match': String(headers.get('etag')) });
  expect([again.status, again.text]).toEqual([304, '']);
  expect(headers.get('etag')).not.toBe((await get('/v1/models?limit=4')).headers.get('etag'));
});

it.each([
  ['/v1/models', 'limit=0', 'limit'],
  ['/v1/models', 'limit=', 'limit'],
  ['/v1/models', 'limit=1001', 'limit'],
  ['/v1/models', 'limit=2.5', 'limit'],
  ['/v1/models', 'after=openai%2Fnone', 'after'],
  ['/alpha/v1/models', 'limit=-1', 'limit'],
  ['/alpha/v1/models', 'after_id=none', 'after_id'],
  ['/alpha/v1/models', 'before_id=none', 'before_id'],
  ['/alpha/v1/models', 'before_id=house%2Fmodel&after_id=house%2Fmodel', 'before_id'],
  ['/alpha/v1/models/house', 'after_id=openai%2Fgpt-5', 'after_id'],
  ['/beta/v1beta/models', 'pageSize=-1', 'pageSize'],
  ['/beta/v1beta/models', 'pageSize=many', 'pageSize'],
  ['/beta/v1beta/models', 'pageToken=none', 'pageToken'],
])('pages of %s refuse %s by the name of the parameter', async (path, query, name) => {
  const { status, text } = await get(`${path}?${query}`);
  expect([status, text]).toEqual([400, expect.stringContaining(`\\"${name}\\"`)]);
});

it('pages of Google take a size of 0 for none, and one beyond the highest for the highest', async () => {
  const whole = await listAll('/beta/v1beta/models', 'models');
  for (const query of ['pageSize=0', 'pageSize=5000', 'pageToken='])
    expect(getList((await get(`/beta/v1beta/models?${query}`)).body, 'models')).toEqual(whole);
});

it("pages are walked by each vendor's SDK", async () => {
  const url = gateway.url;
  const openai = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0 });
  const anthropic = new Anthropic({ apiKey: 'none', baseURL: url, maxRetries: 0 });
  const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: url } });
  const all = (await listAll('/v1/models', 'data')).map(({ id }) => String(id));
  const texts = (await listAll('/alpha/v1/models', 'data')).map(({ id }) => String(id));
  const query = { limit: 10 };
  const pages = openai.getAPIList<{ id: string }, CursorPage<{ id: string }>>('/models', CursorPage, {
    query,
  });
  expect(await Array.fromAsync(pages, ({ id }) => id)).toEqual(all);
  expect(await Array.fromAsync(anthropic.models.list(query), ({ id }) => id)).toEqual(texts);
  const back = await Array.fromAsync(
    anthropic.models.list({ limit: 10, before_id: String(texts.at(-1)) }),
    ({ id }) => id,
  );
  expect(back.toSorted()).toEqual(texts.slice(0, -1).toSorted());
  const named = await google.models.list({ config: { pageSize: 10 } });
  // Google's clients cannot call models of moderations, which make neither.
  const called = all.filter((id) => texts.includes(id) || /embed|image/.test(id));
  expect(await Array.fromAsync(named, ({ name }) => name)).toEqual(called.map((id) => `models/${id}`));
});

describe('a provider that lists its own models', () => {
  const listed = {
    data: [
      {
        id: 'openai/gpt-4o-mini',
        name: 'GPT',
        created: 1750000000,
        context_length: 128_000,
        pricing: { prompt: '0.00000015', completion: '0.0000006' },
      },
    ],
  };
  let vendor: Served;
  beforeAll(async () => {
    vendor = await serve(
      createServer(
        (_, response) =>
          void response.setHeader('content-type', 'application/json').end(JSON.stringify(listed)),
      ),
    );
  });

  it('keeps its place in the configuration, however late its list arrives', async () => {
    let catalog: Catalog | undefined;
    const looker = {
      name: 'looker',
      interface: pluginInterface,
      apply: (host: Host) => void (catalog = host.catalog),
    };
    const own = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        openrouter({ apiKey: secret, baseUrl: vendor.origin }),
        openai({ apiKey: secret, baseUrl: upstream }),
        looker,
      ],
    });
    const listProviders = (): string[] =>
      (catalog?.find('openai/gpt-4o-mini') ?? []).map(({ provider }) => provider.name);
    await expect.poll(() => listProviders().length).toBe(2);
    expect(listProviders()).toEqual(['openrouter', 'openai']);
    await own.close();
  });

  it('has each model that is not offered named in the log with the reason, once', async () => {
    let looks = 0;
    const local = await serve(
      createServer((_, response) => {
        looks += 1;
        const data = [{ id: 'Qwen 3 (8B)', meta: { n_ctx: '4096' } }, { id: '模型' }, { id: '模型二' }];
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
      }),
    );
    const own = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        vllm({ baseUrl: `${local.origin}/v1`, free: true, discoverEvery: 1 }),
      ],
    });
    await expect.poll(() => looks).toBeGreaterThan(2);
    const { data } = z
      .object({ data: z.array(z.object({ id: z.string() })) })
      .parse(await (await fetch(`${own.url}/v1/models`)).json());
    expect(data).toMatchObject([{ id: 'vllm/Qwen-3-8B-' }]);
    const said = own.log.filter((line) => line.includes('not offered'));
    expect(said.map((line) => z.object({ msg: z.string() }).parse(JSON.parse(line)).msg)).toEqual([
      'not offered: "模型", "模型二": its id does not begin with a letter or a digit of ASCII',
    ]);
    await own.close();
  });

  it('is also asked by the command line, which opens no gateway', async () => {
    const folder = makeDataFolder();
    const file = join(folder, 'gateway.config.mjs');
    writeFileSync(
      file,
      "import { balance } from 'tollgate/plugins/meters/balance';\n" +
        "import { catalogue } from 'tollgate/plugins/operations/catalogue';\n" +
        "import { openrouter } from 'tollgate/plugins/providers/openrouter';\n" +
        `export default { dataFolder: ${JSON.stringify(folder)},\n` +
        '  plugins: [openrouter(), catalogue(), balance()] };\n',
    );
    const environment = {
      TOLLGATE_CONFIG: file,
      OPENROUTER_API_KEY: secret,
      OPENROUTER_BASE_URL: vendor.origin,
    };
    const { output } = await runVerb(['models'], environment);
    // A key may be limited to what a provider lists, and to nothing else.
    const createKey = (models: string) => runVerb(['keys', 'create', '--models', models], environment);
    expect((await createKey('openai/gpt-4o-mini')).code).toBe(0);
    expect((await createKey('openai/gpt-4o-mimi')).errors).toContain('did you mean "openai/gpt-4o-mini"?');
    expect(output).toMatch(/^openai\/gpt-4o-mini +0\.15 +0\.6 .*openrouter$/m);
  });
});
