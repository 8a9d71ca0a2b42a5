/** Corrections in the console: adjustments, refunds, the state of an account, and deleted keys. */
import { beforeAll, describe, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { chooseOfPage, dialog, go, hasBrowser, open, openPages, page } from './pages.ts';

describe.runIf(hasBrowser)('corrections in the console', () => {
  let secret: string;
  openPages();
  beforeAll(async () => {
    secret = await open.harness.gateway.newKey({ account: 'corrected', credit: '5' });
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true }).first();
  const call = async (): Promise<Response> => {
    const response = await postJson(
      `${open.harness.gateway.url}/v1/chat/completions`,
      { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] },
      { authorization: `Bearer ${secret}` },
    );
    await response.arrayBuffer();
    return response;
  };

  it('adjust an account downwards, with a reason that the statement shows', async () => {
    await go('accounts/corrected');
    await chooseOfPage('Adjust');
    await dialog().getByLabel('Amount in USD').fill('-1.25');
    await dialog().getByLabel('Reason').fill('a slip');
    await dialog().getByRole('button', { name: 'Adjust', exact: true }).click();
    await page.getByText('3.75').first().waitFor();
    expect(await open.harness.gateway.verb('balance', ['corrected'])).toMatchObject({ balance: '3.75' });
    await go('accounts/corrected?show=statement');
    await page.getByText('adjustment: a slip').waitFor();
  });

  it('refund a call from its page, once', async () => {
    const id = (await call()).headers.get('x-request-id');
    await expect
      .poll(() => open.harness.gateway.verb('calls list').then((calls) => JSON.stringify(calls)))
      .toContain(id);
    await go(`calls/${id}`);
    const refund = async (): Promise<void> => {
      await button('Refund').click();
      await dialog().getByLabel('Reason').fill('the reply was broken');
      await dialog().getByRole('button', { name: 'Refund', exact: true }).click();
      await dialog().waitFor({ state: 'detached' });
    };
    // Another operator looks at the call at the same time.
    await page.route('**/admin/refunds', async (route) => {
      await route.fetch();
      await route.continue();
    });
    await refund();
    await page.getByText('Nothing was refunded: this call was refunded before').waitFor();
    await page.locator('dt', { hasText: 'Refunded' }).waitFor();
    expect(await page.getByRole('button', { name: 'Refund' }).count()).toBe(0);
    expect(await open.harness.gateway.verb('balance', ['corrected'])).toMatchObject({ balance: '3.75' });
  });

  it('disable an account and open it again', async () => {
    for (const [name, state, status] of [
      ['Disable / close', 'disabled', 401],
      ['Change state', 'open', 200],
    ] as const) {
      await go('accounts/corrected');
      await chooseOfPage(name);
      await dialog().locator('select').selectOption(state);
      await dialog().getByRole('button', { name: 'Change', exact: true }).click();
      await dialog().waitFor({ state: 'detached' });
      await expect.poll(async () => (await call()).status).toBe(status);
    }
  });

  it('delete a key, which is then refused and no longer listed', async () => {
    await go('accounts/corrected');
    await page
      .locator('td')
      .getByRole('button', { name: /^Actions for/ })
      .click();
    await button('Delete').click();
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(async () => (await call()).status).toBe(401);
    expect(await open.harness.gateway.verb('keys list', [], { account: 'corrected' })).toEqual([]);
  });
});
