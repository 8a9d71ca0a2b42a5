/** People sign in to the console at a real identity provider. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHouse, type House } from './house.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house.close());

describe('sign-in to the console', () => {
  it('gives a person a session with their role, and the console knows their name', async () => {
    const browser = await house.enter('ann');
    const session = await browser.send(`${house.consoleUrl}/console/session`);
    expect(await session.json()).toMatchObject({
      signedIn: true,
      name: 'ann@house.example',
      role: 'owner',
      readOnly: false,
    });
    const accounts = await browser.send(`${house.consoleUrl}/admin/accounts`);
    expect(accounts.status).toBe(200);
  });
});
