/**
 * The playground in a browser: calls of every protocol with a key made on the page, paid and shown as they
 * arrive.
 */
import { describe, expect, it } from 'vitest';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { findBarriers, showPlace } from '../support/operated-console.ts';
import { hasBrowser, hostile, open, openPages, page, watched } from './pages.ts';

describe.runIf(hasBrowser)('the playground', () => {
  openPages([responses(), generateContent(), images(), completions(), embeddings(), rerank(), moderations()]);

  const go = (query: string): Promise<void> => showPlace(page, `playground?${query}`);
  const button = (name: string) => page.getByRole('button', { name, exact: true }).first();
  const reply = () => page.getByRole('region', { name: 'Reply' });
  /** Sends, and waits for the end of the call. */
  const send = async (): Promise<string> => {
    await Promise.all([
      page.waitForResponse((response) => response.url().includes('/console/calls/')),
      button('Send').click(),
    ]);
    await reply().getByText('in all').waitFor();
    return (await reply().textContent()) ?? '';
  };

  it('leads to the accounts while there is none to pay for a key', async () => {
    await page.route('**/admin/accounts?*', (route) => route.fulfill({ json: { data: [] } }));
    await go('');
    await page.getByText('There is no account yet.').waitFor();
    expect(await button('Make a key').count()).toBe(0);
    await page.unroute('**/admin/accounts?*');
    await page.getByRole('link', { name: 'Create the first one.' }).click();
    await page.getByRole('heading', { name: 'Accounts and keys' }).waitFor();
  });

  it('makes a key for an account and shows the exact cost of a stream', async () => {
    await go('protocol=chat-completions&model=demo/echo');
    await page.getByLabel('Account').selectOption('tester');
    await button('Make a key').click();
    await page.getByText('key ready').waitFor();
    await page.getByLabel('Prompt').fill('Say this again');
    expect(await send()).toContain('Say this again');
    await expect.poll(() => reply().locator('p').first().textContent()).toMatch(/cost \$\d/);
    const end = open.harness.gateway.ends.at(-1);
    expect(end).toMatchObject({
      type: 'answered',
      exchange: { principal: { account: 'tester' }, call: { stream: true } },
    });
    await page.getByText('Spent here:').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await button('Start over').click();
    await page.getByRole('region', { name: 'Conversation' }).waitFor({ state: 'detached' });
  });

  it.each(['responses', 'messages', 'generate-content'])(
    'speaks %s, streamed and whole',
    async (protocol) => {
      await go(`protocol=${protocol}&model=demo/echo`);
      await page.getByLabel('Prompt').fill('Once as a stream');
      expect(await send()).toContain('Once as a stream');
      await page.getByLabel('Stream').uncheck();
      await page.getByLabel('Prompt').fill('Once as a whole');
      expect(await send()).toContain('Once as a whole');
      await page.getByLabel('Stream').check();
      const [last] = open.harness.gateway.ends.slice(-1);
      expect(last).toMatchObject({ exchange: { protocol: { name: protocol } } });
    },
  );

  it('sends tools, pictures and further fields, and names what is wrong with them', async () => {
    await go('protocol=chat-completions&model=demo/echo');
    await page.getByText('Parameters and tools').click();
    await page.getByLabel('Tools (JSON)').fill('[{"name":');
    await page.getByText(/^Tools: /).waitFor();
    await page.getByLabel('Tools (JSON)').fill('{"name":"get_weather"}');
    await page.getByText('Tools: a list is needed here.').waitFor();
    await page.getByLabel('Further fields').fill('["seed"]');
    await page.getByLabel('Tools (JSON)').fill('');
    await page.getByText('Further fields: an object is needed here.').waitFor();
    await page.getByLabel('Tools (JSON)').fill('[{"name":"get_weather"}]');
    await page.getByLabel('Further fields').fill('{"seed": 7}');
    await page.getByLabel('Pictures').setInputFiles({
      name: 'dot.png',
      mimeType: 'image/png',
      buffer: Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
    });
    const code = page.getByRole('region', { name: 'As code' });
    await code.getByText('data:image/png').waitFor();
    expect(await code.textContent()).toMatch(/curl.*"get_weather".*"seed": 7/s);
    await button('Python').click();
    expect(await code.textContent()).toContain('from openai import OpenAI');
    await button('JavaScript').click();
    expect(await code.textContent()).toContain("import OpenAI from 'openai'");
    expect(await send()).toContain('Calls get_weather');
    await page.getByLabel('Tools (JSON)').fill('');
    await send();
    await expect.poll(() => page.getByLabel('Pictures').inputValue()).toBe('');
  });

  it.each([
    [
      'embeddings',
      'Input (one a line)',
      'A lighthouse\n\nA harbour at night',
      /… \(64 numbers\)/,
      'demo/embed',
    ],
    ['rerank', 'Documents (one a line)', 'Tea\nA lamp for ships', /"relevance_score": 1/, 'demo/rank'],
    ['cohere-rerank', 'Query', 'Tea', /"search_units": 1/, 'demo/rank'],
    ['moderations', 'Input', 'I will kill you', /"violence": true/, 'demo/guard'],
    ['embed-content', 'Content (JSON)', '{"parts":[{"text":"A gate"}]}', /"values"/, 'demo/embed'],
  ] as const)('has a form for calls of %s', async (protocol, field, text, expected, model) => {
    await go(`protocol=${protocol}&model=${model}`);
    expect(await page.getByLabel('Stream').count()).toBe(0);
    await page.getByLabel(field, { exact: true }).fill(text);
    expect(await send()).toMatch(/^200/);
    expect(await page.getByLabel('Body of the reply').textContent()).toMatch(expected);
    await expect.poll(() => reply().locator('p').first().textContent()).toMatch(/cost \$\d/);
    expect(open.harness.gateway.ends.at(-1)).toMatchObject({ exchange: { protocol: { name: protocol } } });
    expect(await page.getByRole('region', { name: 'Conversation' }).count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
  });

  it('writes the code of a form for the SDK that speaks it, or as a request of HTTP', async () => {
    const code = page.getByRole('region', { name: 'As code' });
    const read = async (language: string) => {
      await button(language).click();
      return code.textContent();
    };
    await go('protocol=embeddings');
    await expect.poll(() => page.getByLabel('Model').inputValue()).toBe('openai/text-embedding-3-small');
    expect(await read('Python')).toContain('client.embeddings.create(');
    await go('protocol=rerank');
    expect(await read('Python')).toMatch(/requests\.post\(.*\/v1\/rerank/s);
    expect(await read('JavaScript')).toMatch(/await fetch\("http.*\/v1\/rerank"/s);
  });

  it('streams the continuation of a text, and says what is wrong with a form', async () => {
    await go('protocol=completions&model=demo/echo');
    await page.getByLabel('Prompt', { exact: true }).fill('Once upon a time');
    expect(await send()).toContain('Once upon a time');
    expect(open.harness.gateway.ends.at(-1)).toMatchObject({ exchange: { call: { stream: true } } });
    await go('protocol=embed-content');
    await page.getByLabel('Content (JSON)').fill('{"parts":');
    await page.getByText('Content: this is not JSON.').waitFor();
    expect(await button('Send').isDisabled()).toBe(true);
    await page.getByLabel('Content (JSON)').fill('{"parts":[]}');
    await send();
    await reply().getByRole('alert').waitFor();
  });

  it('shows pictures that a model makes', async () => {
    const [, model = ''] = /"id":"(demo\/[^"]*)"[^}]*"output":\["image"\]/.exec(await fetchModels()) ?? [];
    expect(model).not.toBe('');
    await go(`protocol=images&model=${model}`);
    await page.getByLabel('Stream').uncheck();
    await page.getByLabel('Prompt').fill('A gate');
    await send();
    await reply().getByRole('img').waitFor();
  });

  it('shows errors and hostile text as text, and no key', async () => {
    await go('protocol=chat-completions&model=no/model');
    await page.getByLabel('Prompt').fill(hostile);
    expect(await send()).toContain('404');
    await reply().getByRole('alert').waitFor();
    await go('protocol=chat-completions&model=demo/echo');
    await page.getByLabel('Prompt').fill(hostile);
    expect(await send()).toContain('globalThis.hacked');
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.locator('main').textContent()).not.toMatch(/gw-|sk-/);
    expect(watched.complaints).toEqual([]);
    expect([...watched.origins]).toEqual([open.adminUrl]);
  });

  it('keeps the conversation while its call is looked at', async () => {
    await go('protocol=chat-completions&model=demo/echo');
    await page.getByLabel('Prompt').fill('Keep this');
    await send();
    await page.getByRole('link', { name: 'Show the call' }).click();
    await page.getByRole('heading', { name: /^Call / }).waitFor();
    await page.goBack();
    await page.getByRole('region', { name: 'Conversation' }).getByText('Keep this').first().waitFor();
  });

  it('says in plain words that the gateway cannot be reached', async () => {
    await page.route('**/console/calls/**', (route) => route.abort());
    await page.getByLabel('Prompt').fill('Hello?');
    await button('Send').click();
    await reply().getByRole('alert').getByText('Cannot reach the gateway. Is it running?').waitFor();
  });

  it('forgets the key and the conversation when their operator signs out', async () => {
    await page.getByText('key ready').waitFor();
    await button('Sign out').click();
    await page.getByLabel('Operator secret or key').fill(open.secret);
    await page.keyboard.press('Enter');
    await button('Make a key').waitFor();
    expect(await page.getByRole('region', { name: 'Conversation' }).count()).toBe(0);
  });

  async function fetchModels(): Promise<string> {
    const cookie = await open.signIn();
    return (await fetch(`${open.adminUrl}/admin/models`, { headers: { cookie } })).text();
  }
});
