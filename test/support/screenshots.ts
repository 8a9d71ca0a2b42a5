/**
 * `npm run screenshots -- <folder>`: pictures of every page of the console, in both themes, on a wide screen
 * and on a phone, of a gateway with a little traffic. Three of them are in the README.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { configuration } from '../../plugins/operations/configuration.ts';
import { crossing } from '../../plugins/operations/crossing.ts';
import { health } from '../../plugins/routing/health.ts';
import { openHouse, type House } from '../sign-in/house.ts';
import { openConsole, openPage, signInOn } from './operated-console.ts';
import { postJson } from './post.ts';

const folder = process.argv[2] ?? 'data/screenshots';
/** Whole pages instead of what the screen shows. */
const isFull = process.argv.includes('--full');
mkdirSync(folder, { recursive: true });
const open = await openConsole({}, [health(), crossing(), configuration()]);
const { gateway } = open.harness;

async function post(url: string, key: string, body: object): Promise<Record<string, unknown>> {
  const response = await postJson(url, body, { authorization: `Bearer ${key}` });
  const text = await response.text();
  return text.startsWith('{') ? JSON.parse(text) : {};
}

const keys: string[] = [];
for (const [account, name, credit] of [
  ['search', 'ranking', '40'],
  ['search', 'nightly', '12.5'],
  ['support', 'assistant', '250'],
  ['research', 'notebook', '100'],
]) {
  const made = await post(`${open.adminUrl}/admin/keys`, open.secret, { account, name, credit });
  keys.push(String(made['key']));
}
for (const [scope, subject, limit, per, hard] of [
  ['account', 'search', '20', 'month', true],
  ['account', 'search', '0.002', 'day', false],
  ['team', 'search', '35', 'week', true],
])
  await post(`${open.adminUrl}/admin/budgets`, open.secret, { scope, subject, limit, per, hard });
await post(`${open.adminUrl}/admin/prices`, open.secret, {
  model: 'openai/gpt-4o',
  rates: { input: '3', output: '12.5' },
  from: '2099-01-01',
});
for (const markup of [{ percent: '10' }, { account: 'support', model: 'openai/*', fixed: '0.001' }])
  await post(`${open.adminUrl}/admin/markups`, open.secret, markup);
const asOperator = { authorization: `Bearer ${open.secret}`, 'content-type': 'application/json' };
for (const [name, allowance] of [
  ['lab', { amount: '100' }],
  ['ranking-lab', undefined],
] as const)
  await post(`${open.adminUrl}/admin/accounts`, open.secret, { name, parent: 'search', allowance });
const change = { method: 'PATCH', headers: asOperator, body: JSON.stringify({ memberKeys: { most: 3 } }) };
await (await fetch(`${open.adminUrl}/admin/accounts/search/members`, change)).text();
const invite = async (name: string): Promise<string> => {
  const made = await post(`${open.adminUrl}/admin/invitations`, open.secret, { account: 'search', name });
  return gateway.url + String(made['link']);
};
const taken = (await invite('grace@example.com')).split('=').at(-1);
await post(`${gateway.url}/v1/invitations/redeem`, '', { invitation: taken });
const invitation = await invite('ada@example.com');
const question = { role: 'user', content: 'Which harbours can I reach from here before the tide turns?' };
const agents = ['claude-cli/2.1.0 (external, cli)', 'codex_cli_rs/0.120.0', 'opencode/1.0'];
/** A call of one of five sessions, each of a client of its own. */
async function ask(number: number, body: object): Promise<void> {
  const session = number % 5;
  const headers = {
    authorization: `Bearer ${keys[number % keys.length] ?? ''}`,
    'user-agent': agents[session % agents.length] ?? '',
    'x-session-id': `5f0c2a1${session}-harbour`,
  };
  await (await postJson(`${gateway.url}/v1/chat/completions`, body, headers)).text();
  if (session !== 3) return;
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  const message = { model: 'openai/gpt-4o', max_tokens: 20, system, messages: [question] };
  const version = { 'anthropic-version': '2023-06-01' };
  await (await postJson(`${gateway.url}/v1/messages`, message, { ...headers, ...version })).text();
}
const models = [
  'openai/gpt-4o-mini',
  'openai/gpt-4o',
  'demo/echo',
  'openai/gpt-4.1-mini',
  'openai/gpt-4o',
  'openai/unknown',
];
for (let call = 0; call < 48; call += 1)
  await ask(call, {
    model: models[(call * 7) % (call % 5 === 0 ? models.length : models.length - 1)],
    stream: call % 3 === 0,
    messages: Array.from({ length: 1 + (call % 4) * 2 }, (_, turn) =>
      turn % 2 === 0 ? question : { role: 'assistant', content: 'Several, if the wind holds.' },
    ),
  });
await gateway.ended(57);

const pages: Readonly<Record<string, string>> = {
  overview: '?range=1h&show=calls',
  calls: 'calls',
  live: 'calls?show=live',
  accounts: 'accounts',
  account: 'accounts/search',
  statement: 'accounts/search?show=statement',
  keys: 'accounts?show=keys',
  operators: 'accounts?show=operators',
  budgets: 'accounts?show=budgets',
  usage: 'accounts/search?show=usage',
  team: 'accounts/search?show=team',
  members: 'accounts/search?show=members',
  models: 'models',
  week: '?range=7d&by=key',
  sessions: 'sessions',
  markups: 'prices?show=markups',
  warnings: 'activity?show=warnings',
  credits: 'activity?show=credits',
  capabilities: 'crossing?view=capabilities',
};
const screens = [
  ['', { width: 1280, height: 800 }],
  ['-narrow', { width: 390, height: 844 }],
] as const;

async function shootAll(
  colorScheme: 'light' | 'dark',
  [suffix, viewport]: (typeof screens)[number],
): Promise<void> {
  const { page, complaints } = await openPage({ colorScheme, viewport });
  const path = (name: string): string => join(folder, `${name}-${colorScheme}${suffix}.png`);
  const shoot = async (name: string): Promise<void> => {
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: path(name), fullPage: isFull });
  };
  await page.goto(open.adminUrl);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await shoot('sign-in');
  await signInOn(page, open);
  const titles = await page.getByRole('navigation', { name: 'Pages' }).locator('.links a').all();
  const listed = await Promise.all(titles.map((link) => link.getAttribute('href')));
  const others = listed.map((href) => String(href).replace('#/', '')).filter((path) => path !== '');
  const all = {
    ...pages,
    ...Object.fromEntries(others.filter((each) => !Object.hasOwn(pages, each)).map((each) => [each, each])),
  };
  for (const [name, place] of Object.entries(all)) {
    await page.goto(`${open.adminUrl}/#/${place}`);
    await page.locator('main h1').waitFor();
    if (name === 'live') await page.getByText('Live', { exact: true }).last().waitFor();
    if (name === 'crossing') await page.locator('.crossings').waitFor();
    await page.locator(':root:not(:has([aria-busy=true]))').waitFor({ state: 'attached' });
    if (name !== 'live') await shoot(name);
    else await page.screenshot({ path: path(name) });
  }
  await page.goto(`${open.adminUrl}/#/models?search=gpt-4o-mini`);
  await page.getByRole('button', { name: 'openai/gpt-4o-mini', exact: true }).click();
  await shoot('model');
  await page.keyboard.press('Escape');
  await page.goto(`${open.adminUrl}/#/prices`);
  await page.getByRole('button', { name: 'Change a price' }).click();
  await page.getByLabel('Model', { exact: true }).fill('openai/gpt-4o');
  await page.getByLabel('Input in USD', { exact: true }).click();
  await shoot('price');
  for (const [name, place, button] of [
    ['new-account', 'accounts', 'New account'],
    ['new-key', 'accounts', 'New key'],
    ['invite', 'accounts/search?show=members', 'Invite'],
    ['menu', 'accounts/search', 'Actions for the account search'],
  ] as const) {
    await page.goto(`${open.adminUrl}/#/${place}`);
    await page.getByRole('button', { name: button, exact: true }).click();
    await shoot(name);
    await page.keyboard.press('Escape');
  }
  await page.goto(`${open.adminUrl}/#/models`);
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('s');
  await page.getByText('Statement of search').waitFor();
  await shoot('palette');
  await page.keyboard.press('Escape');
  await page.goto(`${open.adminUrl}/#/calls?model=${encodeURIComponent('openai/gpt-4o')}`);
  await page.locator('td a').first().click();
  await page.getByRole('heading', { name: /^Call / }).waitFor();
  await page.locator('.waterfall').waitFor();
  await shoot('call');
  await page.goto(gateway.url);
  await page.getByText('openai/gpt-4o-mini').first().waitFor();
  await shoot('public');
  await page.getByLabel('API key').fill(keys[0] ?? '');
  await page.keyboard.press('Enter');
  await page.getByLabel('Spend by day and model').first().waitFor();
  await shoot('public-key');
  for (const tab of ['My keys', 'Playground', 'Models', 'Addresses']) {
    await page.getByRole('button', { name: tab, exact: true }).click();
    await page.locator(':root:not(:has([aria-busy=true]))').waitFor({ state: 'attached' });
    await shoot(`public-${tab.toLowerCase().replace(' ', '-')}`);
  }
  await page.getByRole('button', { name: 'My key', exact: true }).click();
  await page.locator('td a').first().click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await shoot('public-call');
  await page.goto(invitation);
  await page.getByRole('button', { name: 'Get my key' }).waitFor();
  await shoot('invitation');
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  await page.close();
}

/** The pages of a gateway whose people sign in at an identity provider, as one of its members sees them. */
async function shootHouse(
  house: House,
  colorScheme: 'light' | 'dark',
  [suffix, viewport]: (typeof screens)[number],
): Promise<void> {
  const { page } = await openPage({ colorScheme, viewport });
  const shoot = async (name: string): Promise<void> => {
    await page.waitForLoadState('networkidle');
    const path = join(folder, `${name}-${colorScheme}${suffix}.png`);
    await page.screenshot({ path, fullPage: isFull });
  };
  await page.goto(house.consoleUrl);
  await page.getByText('Sign in with your organisation').waitFor();
  await shoot('sign-in-organisation');
  await page.getByText('Sign in with your organisation').click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await shoot('member');
  const begun = await fetch(`${house.publicUrl}/oauth/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ surface: 'claude_code' }),
  });
  const { verification_uri_complete: link } = z
    .object({ verification_uri_complete: z.string() })
    .parse(await begun.json());
  await page.goto(link);
  await page.getByRole('button').first().waitFor();
  await shoot('device');
  await page.close();
}

const house = await openHouse();
await house.ask('POST', '/admin/credits', { account: 'search', amount: '5' });
house.identity.now = 'mia';
for (const colorScheme of ['light', 'dark'] as const)
  for (const screen of screens) {
    await shootAll(colorScheme, screen);
    await shootHouse(house, colorScheme, screen);
  }
await open.close();
await house.close();
process.exit(0);
