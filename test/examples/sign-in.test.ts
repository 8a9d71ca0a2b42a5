/** The example of sign-in runs as it is, with an identity provider of the test. */
import { afterEach, expect, it, vi } from 'vitest';
import { Browser } from '../sign-in/house.ts';
import { clientId, clientSecret, openIdentity } from '../sign-in/identity.ts';
import { findFreePort } from '../support/free-port.ts';
import { startGateway } from '../support/gateway.ts';

afterEach(() => vi.unstubAllEnvs());

it('people sign in to the gateway of the example, with the role of their group', async () => {
  const port = await findFreePort();
  const [publicUrl, consoleUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const identity = await openIdentity({
    redirects: [`${publicUrl}/sign-in/callback`, `${consoleUrl}/sign-in/callback`],
    logout: `${publicUrl}/sign-in/logout`,
  });
  identity.staff.set('flo', { email: 'flo@house.example', groups: ['finance'] });
  identity.now = 'flo';
  vi.stubEnv('OIDC_ISSUER', identity.issuer);
  vi.stubEnv('OIDC_CLIENT_ID', clientId);
  vi.stubEnv('OIDC_CLIENT_SECRET', clientSecret);
  vi.stubEnv('PUBLIC_URL', publicUrl);
  vi.stubEnv('CONSOLE_URL', consoleUrl);
  vi.stubEnv('TOLLGATE_ADMIN_PORT', String(port + 1));
  const { default: config } = await import('../../examples/sign-in.config.ts');
  const gateway = await startGateway({ ...config, server: { port } });
  try {
    const browser = new Browser();
    expect((await browser.open(`${consoleUrl}/sign-in`)).status).toBe(200);
    const session = await browser.send(`${consoleUrl}/console/session`);
    expect(await session.json()).toMatchObject({ role: 'billing', name: 'flo@house.example' });
  } finally {
    await gateway.close();
    await identity.close();
  }
});
