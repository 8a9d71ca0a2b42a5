/** The channels that are delivered, against servers that check messages as the vendors do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { discord } from '../../plugins/channels/discord.ts';
import { email } from '../../plugins/channels/email.ts';
import { slack } from '../../plugins/channels/slack.ts';
import { teams } from '../../plugins/channels/teams.ts';
import { webhook } from '../../plugins/channels/webhook.ts';
import { buildMessage, SendError } from '../../plugins/shared/notices/message.ts';
import { buildTold, openChannel, testChannel } from '../contract/channel.ts';
import { startDiscord } from '../support/channels/discord.ts';
import type { FakeChannel } from '../support/channels/http.ts';
import { startSigned, signingSecret } from '../support/channels/signed.ts';
import { startSlack } from '../support/channels/slack.ts';
import { mailUser, startSmtp, type FakeMailServer } from '../support/channels/smtp.ts';
import { startTeams } from '../support/channels/teams.ts';
import { makeFolder } from '../support/folder.ts';

testChannel({
  name: 'slack',
  start: startSlack,
  plugin: ({ url }, shared) => slack({ url, ...shared }),
  secrets: ['aSecretOfSlack'],
});

testChannel({
  name: 'discord',
  start: startDiscord,
  plugin: ({ url }, shared) => discord({ url, ...shared }),
  secrets: ['aSecretOfDiscord'],
});

testChannel({
  name: 'teams',
  start: startTeams,
  plugin: ({ url }, shared) => teams({ url, ...shared }),
  secrets: ['aSecretOfTeams'],
});

testChannel({
  name: 'webhook',
  start: startSigned,
  plugin: ({ url }, shared) => webhook({ url, secret: signingSecret, ...shared }),
  secrets: [signingSecret, '/operators'],
});

const trusted = getCACertificates('default');
afterAll(() => setDefaultCACertificates(trusted));

async function startMail(): Promise<FakeMailServer> {
  const server = await startSmtp();
  setDefaultCACertificates([...trusted, server.certificate]);
  return server;
}

const mailOptions = {
  host: 'localhost',
  from: 'gateway@example.com',
  to: ['ops@example.com', 'b@example.com'],
};

testChannel({
  name: 'email',
  start: startMail,
  plugin: ({ url }, shared) =>
    email({ ...mailOptions, port: Number(new URL(url).port), ...mailUser, ...shared }),
  secrets: [mailUser.password],
});

it('an e-mail goes to every recipient, and has the same id when it is sent again', async () => {
  const server = await startMail();
  onTestFinished(() => server.close());
  const channel = openChannel(email({ ...mailOptions, port: server.port, ...mailUser }));
  const message = buildMessage(buildTold('Once.\r\nBcc: evil@example.com', { title: 'A\r\nBcc: x' }));
  await channel.send(message);
  await channel.send(message);
  expect(server.recipients).toEqual([...mailOptions.to, ...mailOptions.to]);
  expect(server.ids).toEqual(['<id-1@tollgate.localhost>', '<id-1@tollgate.localhost>']);
});

it('a mail server without encryption gets neither the password nor the message', async () => {
  const server = await startSmtp();
  onTestFinished(() => server.close());
  // Its certificate is of an authority that nobody knows.
  setDefaultCACertificates(trusted);
  const channel = openChannel(email({ ...mailOptions, port: server.port, ...mailUser }));
  await expect(channel.send(buildMessage(buildTold('Secret.')))).rejects.toThrow(/certificate/);
  expect(server.count()).toBe(0);
});

it('a channel says for how long the vendor wants no messages', async () => {
  const server: FakeChannel = await startDiscord();
  onTestFinished(() => server.close());
  server.failNext({ status: 429, headers: { 'retry-after': '17' } });
  const failure: unknown = await openChannel(discord({ url: server.url }))
    .send(buildMessage(buildTold('Too much.')))
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SendError);
  expect(failure).toMatchObject({ retryAfter: 17, message: '127.0.0.1 answered 429' });
});

it.each([
  [() => slack({ url: 'http://hooks.example.com/x' }), /https/],
  [() => slack({ url: 'https://hooks.example.com/x', events: ['budget'] }), /events/],
  [() => slack({ url: 'https://hooks.example.com/x', name: 'A b' }), /name/],
  [() => email({ ...mailOptions, user: 'a' }), /password/],
  [() => email({ ...mailOptions, ...mailUser, encryption: 'none' }), /encryption/],
  [() => webhook({ url: 'https://example.com', secret: 'short' }), /32 characters/],
])('a channel that is badly configured is refused when the configuration is read: %#', (make, fault) => {
  expect(make).toThrow(fault);
});

it('a channel that wants an event which does not exist is refused, and one of another plugin is not', () => {
  const url = 'https://hooks.example.com/x';
  expect(() => openChannel(slack({ url, events: ['budget.treshold'] }))).toThrow(/no event budget.treshold/);
  expect(openChannel(slack({ url, events: ['slack.anything', 'budget.*'] })).name).toBe('slack');
});

it('a channel reads what its options refer to before each message', async () => {
  const [first, second] = [await startDiscord(), await startDiscord()];
  onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
  const file = join(makeFolder(), 'address');
  writeFileSync(file, `${first.url}\n`);
  const channel = openChannel(discord({ url: `file:${file}` }));
  const message = buildMessage(buildTold('Hello.'));
  await channel.send(message);
  expect([first.count(), second.count()]).toEqual([1, 0]);
  writeFileSync(file, second.url);
  await vi.waitFor(
    async () => {
      await channel.send(message);
      expect(second.count()).toBe(1);
    },
    { timeout: 60_000, interval: 200 },
  );
  writeFileSync(file, 'http://example.com/aSecretOfDiscord');
  const bad = openChannel(discord({ url: `file:${file}` })).send(message);
  await expect(bad).rejects.toThrow('has to be an https address');
  await expect(bad).rejects.not.toThrow('aSecretOfDiscord');
});
