import { bearer } from '../../plugins/auth/bearer.ts';
/** A gateway whose people sign in at a real identity provider, and a browser of fetch and cookies. */
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { claudeCode } from '../../plugins/operations/claude-code.ts';
import { configuration } from '../../plugins/operations/configuration.ts';
import { webConsole } from '../../plugins/operations/console/index.ts';
import { crossing } from '../../plugins/operations/crossing.ts';
import { openapi } from '../../plugins/operations/openapi.ts';
import { signIn } from '../../plugins/operations/sign-in/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { health } from '../../plugins/routing/health.ts';
import { findFreePort } from '../support/free-port.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { clientId, clientSecret, openIdentity, type Identity } from './identity.ts';

const operatorSecret = 'an-operator-secret-for-the-tests-of-sign-in';

/** Follows redirects as a browser does, with the cookies of each. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** Where the last redirect led. */
  at = '';

  async send(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const all = {
      ...(cookie && { cookie }),
      'user-agent': 'Test',
      ...Object.fromEntries(new Headers(headers)),
    };
    const response = await fetch(url, { ...init, headers: all, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    this.at = url;
    return response;
  }

  /** `until` stops before a redirect to an address that it begins. */
  async open(url: string, until?: string): Promise<Response> {
    let response = await this.send(url);
    for (let left = 10; left > 0; left -= 1) {
      const location = response.headers.get('location');
      if (location === null) return response;
      const next = new URL(location, this.at).href;
      if (until !== undefined && next.startsWith(until)) {
        this.at = next;
        return response;
      }
      response = await this.send(next);
    }
    throw new Error(`too many redirects at ${this.at}`);
  }

  post(url: string, form: Readonly<Record<string, string>>, origin = new URL(url).origin): Promise<Response> {
    return this.send(url, { method: 'POST', body: new URLSearchParams(form), headers: { origin } });
  }
}

export interface House {
  readonly gateway: TestGateway;
  readonly identity: Identity;
  readonly publicUrl: string;
  readonly consoleUrl: string;
  /** Signs somebody in to the console, or at the public listener. */
  enter(subject: string, at?: 'console' | 'public'): Promise<Browser>;
  /** Asks the admin API as an operator with the secret. */
  ask(method: string, path: string, body?: object): Promise<Response>;
  close(): Promise<void>;
}

export async function openHouse(): Promise<House> {
  const port = await findFreePort();
  const [publicUrl, consoleUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const identity = await openIdentity({
    redirects: [`${publicUrl}/sign-in/callback`, `${consoleUrl}/sign-in/callback`],
    logout: `${publicUrl}/sign-in/logout`,
  });
  const people = [
    ['ann', 'owners'],
    ['abe', 'admins'],
    ['bea', 'billing'],
    ['vic', 'viewers'],
    ['max', 'search'],
    ['mia', 'search'],
  ] as const;
  for (const [name, group] of people)
    identity.staff.set(name, { email: `${name}@house.example`, groups: [group] });
  const gateway = await startGateway({
    server: { port },
    plugins: [
      bearer(),
      chatCompletions(),
      messages(),
      responses({ store: { for: '1h' } }),
      demo(),
      balance({ firstCredit: '0', markup: [{ account: 'search', percent: '50' }] }),
      calls(),
      claudeCode(),
      catalogue(),
      openapi(),
      health(),
      crossing(),
      configuration(),
      webConsole(),
      signIn({
        issuer: identity.issuer,
        clientId,
        clientSecret,
        publicUrl,
        consoleUrl,
        roles: { owners: 'owner', admins: 'admin', billing: 'billing', viewers: 'viewer', search: 'member' },
        groups: { search: 'search' },
        notice: 'Only for work.',
        parameters: { prompt: 'login' },
      }),
      admin({ port: port + 1, secret: operatorSecret }),
    ],
  });
  return {
    gateway,
    identity,
    publicUrl,
    consoleUrl,
    async enter(subject, at = 'console') {
      identity.now = subject;
      const browser = new Browser();
      const response = await browser.open(
        at === 'console' ? `${consoleUrl}/sign-in` : `${publicUrl}/sign-in`,
      );
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return browser;
    },
    ask: (method, path, body) =>
      fetch(consoleUrl + path, {
        method,
        headers: { authorization: `Bearer ${operatorSecret}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    async close() {
      await gateway.close();
      await identity.close();
    },
  };
}
