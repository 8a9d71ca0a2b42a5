/**
 * The public listings over real sockets, in every protocol's format: all models, one owner's, and a single
 * one, with every way to write a slash.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { gateway, gone, limitedKey, openListings } from './listed-models.ts';

openListings();

afterAll(() => gateway.close());

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

  it.each(['nobody', 'house/nothing', 'nobody/model', 'house%2Fnothing'])(
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

describe('the SDKs', () => {
  it('of OpenAI list and find models, with an escaped slash', async () => {
    const client = new OpenAI({ apiKey: 'none', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const ids = (await Array.fromAsync(await client.models.list())).map((each) => each.id);
    expect(ids).toContain('house/family/deep:free');
    expect(await client.models.retrieve('openai/gpt-5')).toMatchObject({
      id: 'openai/gpt-5',
      object: 'model',
      owned_by: 'openai',
    });
    await expect(client.models.retrieve('openai/none')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });

  it('of Anthropic list and find models', async () => {
    const client = new Anthropic({ apiKey: 'none', baseURL: `${gateway.url}/alpha`, maxRetries: 0 });
    const ids = (await client.models.list()).data.map((each) => each.id);
    expect(ids).toContain('house/model');
    expect(await client.models.retrieve('house/family/deep:free')).toMatchObject({
      id: 'house/family/deep:free',
      type: 'model',
    });
  });
});

it('a call to a model past its shutdown date gets the same error', async () => {
  const refused = await postJson(`${gateway.url}/v1/chat/completions`, {
    model: gone.id,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect([refused.status, await refused.json()]).toMatchObject([
    404,
    {
      error: {
        code: 'model_not_found',
        param: 'model',
        message: expect.stringContaining('Use "house/model" instead.'),
      },
    },
  ]);
});
