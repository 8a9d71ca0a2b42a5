/**
 * What every channel must satisfy, bundled or third-party: it shows what is said and nothing else of it, a
 * refusal is no success, and no error has the address, which is a secret.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { buildMessage, type Channel, type Told } from '../../plugins/shared/notices/message.ts';
import { NoticeOutbox } from '../../plugins/shared/notices/outbox.ts';
import type { FakeChannel } from '../support/channels/http.ts';
import { createHost } from '../support/host.ts';

export interface ChannelFacts {
  readonly name: string;
  /** Starts a server that checks messages as the real one does. */
  readonly start: () => Promise<FakeChannel>;
  /** Makes the plugin for the server, with these options that all channels share. */
  readonly plugin: (server: FakeChannel, shared: { readonly timeout: number }) => Plugin;
  /** Parts of the address and other secrets that no error may have. */
  readonly secrets: readonly string[];
}

/** The channel that a plugin adds. */
export function openChannel(plugin: Plugin): Channel {
  const outbox = createHost([plugin]).notices.outboxes.get('notices');
  const channel = outbox instanceof NoticeOutbox ? outbox.channels.get(plugin.name) : undefined;
  if (!channel) throw new Error('the plugin adds no channel of its name');
  return channel;
}

export function buildTold(text: string, more: Partial<Told> = {}): Told {
  const facts = { event: 'key.expires', subject: 'key-1', period: '1', severity: 'warning' } as const;
  return { ...facts, title: 'A key expires soon', text, id: 'id-1', at: 1_800_000_000_000, ...more };
}

/** Registers the suite; call it at the top of a test file. */
export function testChannel({ name, start, plugin, secrets }: ChannelFacts): void {
  describe(`the channel ${name}`, () => {
    let server: FakeChannel;
    beforeEach(async () => void (server = await start()));
    afterEach(() => server.close());

    const open = (timeout = 60): Channel => openChannel(plugin(server, { timeout }));

    async function send([first, ...rest]: readonly Told[], channel = open()): Promise<void> {
      if (first) await channel.send(buildMessage(first, ...rest));
    }

    async function findFault(work: Promise<unknown>): Promise<string> {
      const error = await work.then(() => undefined).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      return String(error);
    }

    it('shows how bad it is, what happened and what to do', async () => {
      await send([buildTold('The key “laptop” expires on 2030-01-01. Rotate it.')]);
      const [shown] = server.shown;
      for (const part of [
        'Warning',
        'A key expires soon',
        'The key “laptop” expires on 2030-01-01. Rotate it.',
      ])
        expect(shown?.text).toContain(part);
      expect(server.shown).toHaveLength(1);
    });

    it('makes neither mentions nor links of names that others chose', async () => {
      const names = [
        '<!channel> @everyone @here <@U1>',
        '[here](https:evil.example) *bold* _low_ ~no~ `code` ||spoiler||',
        '<https:evil.example|click> &lt;!here&gt; <at>all</at>',
        '# title\u0007 .\u2028> quote',
      ];
      await send(names.map((each, index) => buildTold(`The key “${each}” expires.`, { id: `id-${index}` })));
      expect(server.shown.flatMap(({ marks }) => marks)).toEqual([]);
      for (const part of ['@everyone', 'bold', 'spoiler', 'all'])
        expect(server.shown[0]?.text).toContain(part);
    });

    it('sends many long notices as one message that is accepted', async () => {
      const many = Array.from({ length: 200 }, (_, index) => buildTold(`${index} ${'<&*'.repeat(260)}`));
      await send(many);
      expect(server.shown).toHaveLength(1);
      expect(server.shown[0]?.text).toContain('(200)');
    });

    it.each([500, 404, 429])('takes the status %i for a refusal, and says nothing secret', async (status) => {
      server.failNext({ status, text: 'no', headers: { 'retry-after': '7' } });
      const fault = await findFault(send([buildTold('It fails.')]));
      for (const secret of secrets) expect(fault).not.toContain(secret);
      expect(server.shown).toEqual([]);
    });

    it('follows no redirect and takes it for a refusal', async () => {
      server.failNext({ status: 302, headers: { location: server.url } });
      await findFault(send([buildTold('It moves.')]));
      expect([server.count(), server.shown]).toEqual([1, []]);
    });

    it('gives up a server that does not answer in time', async () => {
      server.failNext({ status: 0 });
      const fault = await findFault(send([buildTold('It hangs.')], open(0.3)));
      for (const secret of secrets) expect(fault).not.toContain(secret);
    });

    it('says why the server cannot be reached, and nothing secret', async () => {
      await server.close();
      const fault = await findFault(send([buildTold('It is away.')]));
      for (const secret of secrets) expect(fault).not.toContain(secret);
      server = await start();
    });
  });
}
