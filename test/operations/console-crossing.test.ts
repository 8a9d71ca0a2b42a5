/** The console's pages about what crosses, providers and the configuration, in a browser. */
import { describe, expect, it } from 'vitest';
import { configuration } from '../../plugins/operations/configuration.ts';
import { crossing } from '../../plugins/operations/crossing.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { findBarriers } from '../support/operated-console.ts';
import {
  button,
  dialog,
  go,
  hasBrowser,
  hostile,
  open,
  openPages,
  page,
  region,
  rows,
  watched,
} from './pages.ts';

describe.runIf(hasBrowser)('the console in a browser', () => {
  openPages([responses(), generateContent(), images(), embeddings(), health(), crossing(), configuration()]);

  it('marks in a request what each wire drops', async () => {
    await go('crossing?protocol=chat-completions&model=demo/echo');
    const marked = page.getByLabel('Request with marks');
    await marked.waitFor();
    await page.getByLabel('All protocols').check();
    await page.getByRole('region', { name: 'demo by messages' }).getByRole('button').click();
    const mark = marked.locator('.mark', { hasText: 'logit_bias' }).last();
    await mark.waitFor();
    expect(await mark.textContent()).toMatch(/"logit_bias".*dropped/s);
    expect(await marked.textContent()).toContain('get_weather');
    expect(await page.getByLabel('Body for demo by messages').textContent()).toContain('"messages"');
    expect(await findBarriers(page)).toEqual([]);
  });

  it('shows what each wire of a family gets, and what their clients can ask for', async () => {
    await go('crossing?protocol=embeddings');
    await expect.poll(() => page.getByLabel('Model').inputValue()).toBe('openai/text-embedding-3-small');
    await page.getByLabel('Request body (JSON)').fill('{"input":["a","b"],"user":"ada"}');
    await page
      .getByRole('region', { name: 'openai by cohere-embed' })
      .getByText('2 lost or changed')
      .waitFor();
    expect(await page.getByRole('region', { name: 'by messages' }).count()).toBe(0);
    expect(await page.getByLabel('Operation').locator('option').count()).toBe(1);
    await go('crossing?view=capabilities&client=embeddings');
    await page.getByRole('row', { name: /dimensions/ }).waitFor();
    expect(await page.getByRole('columnheader').allTextContents()).toContain('To voyage-embed');
    expect(await findBarriers(page)).toEqual([]);
  });

  it('does not go on counting tokens in a protocol that cannot count', async () => {
    await go('crossing');
    await page.getByLabel('Operation').selectOption('count');
    await page.getByLabel('Protocol', { exact: true }).selectOption('images');
    await expect.poll(() => page.getByLabel('Request body (JSON)').inputValue()).toContain('"prompt"');
    expect(await page.getByLabel('Operation').inputValue()).toBe('generate');
  });

  it('shows the error that a client would get, and hostile text as text', async () => {
    await go('crossing?protocol=messages&model=demo/echo');
    const editor = page.getByLabel('Request body (JSON)');
    await editor.fill('{"messages": 7}');
    await page.getByText('The client gets:').first().waitFor();
    await editor.fill(
      JSON.stringify({ max_tokens: 9, [hostile]: 1, messages: [{ role: 'user', content: hostile }] }),
    );
    await page.getByLabel('Request with marks').getByText('hacked').first().waitFor();
    await editor.fill(hostile);
    await page.getByText('nested deeper than 128 levels').first().waitFor();
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
  });

  it('shows what crosses between the protocols', async () => {
    await go('crossing');
    await button('Capabilities').click();
    await region('Capabilities').getByText('developer message').waitFor();
    await page.getByLabel('Protocol of the client').selectOption('messages');
    await region('Capabilities').getByText('plain-text document').waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it('takes a provider out of service and puts it back', async () => {
    await go('providers');
    const card = region('demo');
    await card.getByRole('button', { name: 'Pause' }).first().click();
    await dialog().getByLabel('Reason').fill('maintenance <b>');
    await dialog().getByRole('button', { name: 'Pause' }).click();
    await card.getByText('maintenance <b>').waitFor();
    expect(await card.getByText('paused', { exact: true }).count()).toBe(1);
    await card.getByRole('button', { name: 'Put back' }).first().click();
    await card.getByText('maintenance <b>').waitFor({ state: 'detached' });
    await region('vendor').or(page.locator('section.card').nth(1)).first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it('says until when a target gets no calls, or that the next call tests it', async () => {
    const figures = { attempts: 1, failed: 1, retryShare: 0, firstEventMs: { p50: null, p95: null } };
    const failing = { key: 1, state: 'failing', reason: null, lastErrors: [], ...figures };
    const targets = ['2020-01-01T00:00:00.000Z', '2090-06-15T12:00:00.000Z'].map((until) => ({
      ...failing,
      model: `made/${until.slice(0, 4)}`,
      until,
    }));
    const made = {
      provider: 'made',
      protocols: [],
      models: 2,
      keys: 1,
      state: 'failing',
      holds: [],
      ...figures,
    };
    await page.route('**/admin/providers', (route) =>
      route.fulfill({ json: { since: targets[0]?.until, workers: 1, providers: [{ ...made, targets }] } }),
    );
    await go('providers');
    const states = rows('Targets of made').locator('td:nth-child(3)');
    expect(await states.allTextContents()).toEqual([
      'failing the next call tests it',
      expect.stringMatching(/^failing until 15 Jun/),
    ]);
  });

  it('finds providers by their name, and says so if none has it', async () => {
    await go('providers');
    await page.getByLabel('Filter providers').fill('DEM');
    await region('demo').waitFor();
    await page.getByLabel('Filter providers').fill('unknown');
    await page.getByText('No provider contains “unknown”.').waitFor();
  });

  it('refuses a reason of 20 kB with a message', async () => {
    await go('providers');
    await region('demo').getByRole('button', { name: 'Pause' }).first().click();
    await dialog().getByLabel('Reason').fill(hostile);
    await dialog().getByRole('button', { name: 'Pause' }).click();
    await dialog().getByText(/200/).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
  });

  it('shows effective options without secrets', async () => {
    await go('configuration');
    await region('Options').getByText('restWhenFull').waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text).toContain('hidden');
    expect(text).not.toContain(open.secret);
    await button('What would change?').click();
    await page.getByText('This process serves no calls.').waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it('names only what a reload would change', async () => {
    const none = { settings: [], added: ['news'], removed: [], isReordered: false, changed: [] };
    await page.route('**/admin/config/check', (route) =>
      route.fulfill({ json: { ok: true, changes: none, warnings: [], waiting: [] } }),
    );
    await go('configuration');
    await button('What would change?').click();
    await page.getByText('news', { exact: true }).waitFor();
    expect(await region('Reload').locator('dt').allTextContents()).toEqual(['Plugins added']);
  });

  it('asked no other host for anything, and the browser found no fault', () => {
    expect([...watched.origins]).toEqual([open.adminUrl]);
    expect(watched.complaints).toEqual([]);
  });
});
