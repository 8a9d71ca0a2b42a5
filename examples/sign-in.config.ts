/**
 * The delivered gateway, where people sign in at the company's identity provider. Register a client there
 * with the redirect addresses `<publicUrl>/sign-in/callback` and `<consoleUrl>/sign-in/callback`, and the
 * back-channel logout address `<publicUrl>/sign-in/logout`. Then start it with
 * `TOLLGATE_CONFIG=examples/sign-in.config.ts` and the variables below.
 */
import { defineConfig } from 'tollgate';
import { webConsole } from 'tollgate/plugins/operations/console';
import { signIn } from 'tollgate/plugins/operations/sign-in';
import delivered from '../gateway.config.ts';

const { OIDC_ISSUER = '', OIDC_CLIENT_ID = '', OIDC_CLIENT_SECRET = '' } = process.env;
const { PUBLIC_URL: publicUrl = '', CONSOLE_URL: consoleUrl = '' } = process.env;

export default defineConfig({
  ...delivered,
  plugins: [
    ...delivered.plugins.filter((plugin) => plugin && plugin.name !== 'console'),
    webConsole({ publicUrl, hosts: [URL.parse(consoleUrl)?.hostname ?? 'localhost'] }),
    signIn({
      issuer: OIDC_ISSUER,
      clientId: OIDC_CLIENT_ID,
      clientSecret: OIDC_CLIENT_SECRET,
      publicUrl,
      consoleUrl,
      // Who may do what, by their groups at the identity provider.
      roles: { 'gateway-owners': 'owner', 'gateway-admins': 'admin', finance: 'billing' },
      // Everybody else manages their own keys.
      role: 'member',
      // Which account pays for whom.
      groups: { search: 'search', ads: 'ads' },
    }),
  ],
});
