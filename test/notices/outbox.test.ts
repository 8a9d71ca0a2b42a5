/** What the outbox promises of a notice, with two processes on one ledger of either kind. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError, type Tables } from '../../core/index.ts';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { raiseNotice, type EventName } from '../../plugins/shared/notices/events.ts';
import { SendError, type Channel, type Message } from '../../plugins/shared/notices/message.ts';
import { NoticeOutbox } from '../../plugins/shared/notices/outbox.ts';
import { declaration } from '../../plugins/shared/notices/tables.ts';
import { ledgers } from '../balance/postgres-database.ts';
import type { OpenedStore } from '../contract/books.ts';
import { createHost, type TestHost } from '../support/host.ts';

/** A process, as far as notices go. */
interface Process {
  readonly host: TestHost;
  readonly outbox: NoticeOutbox;
  readonly tables: Tables;
  readonly writes: () => number;
  raise(subject: string, period?: string): Promise<boolean>;
  /** Keeps and delivers what is due now. */
  pass(): Promise<void>;
}

interface Recorder extends Channel {
  readonly messages: Message[];
  /** How the next messages fail. */
  readonly failures: (Error | 'hang')[];
}

function createRecorder(name: string, more: Partial<Channel> = {}): Recorder {
  const messages: Message[] = [];
  const failures: (Error | 'hang')[] = [];
  return {
    name,
    every: 0,
    timeout: 60_000,
    messages,
    failures,
    takes: () => true,
    async send(message) {
      messages.push(message);
      const failure = failures.shift();
      if (failure === 'hang') return new Promise(() => undefined);
      if (failure) throw failure;
      return undefined;
    },
    ...more,
  };
}

const hour = 3_600_000;

/** Goes on by so much on the wall clock; all else runs. */
function advance(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
}

describe.each(ledgers)('the outbox in a %s ledger', (_, open) => {
  let opened: OpenedStore;
  let another: Store;
  let outage: Error | undefined;
  const running: NoticeOutbox[] = [];
  beforeEach(async () => {
    outage = undefined;
    opened = await open();
    another = await opened.another();
  });
  afterEach(async () => {
    vi.useRealTimers();
    outage = undefined;
    await Promise.all(running.splice(0).map((outbox) => outbox.stop()));
    await another.close();
    await opened.dispose();
  });

  async function startProcess(
    store: Store,
    channels: readonly Channel[],
    workers?: TestHost['workers'],
  ): Promise<Process> {
    const host = createHost([], new Registry(), workers);
    const outbox = new NoticeOutbox(host);
    host.notices.outboxes.add(outbox);
    for (const channel of channels) outbox.channels.set(channel.name, channel);
    const tables = await new PluginTables(() => store, host.logger).open(declaration);
    let writes = 0;
    await outbox.start({
      read: async (statement) => (outage ? Promise.reject(outage) : tables.read(statement)),
      async write(statements) {
        writes += 1;
        return outage ? Promise.reject(outage) : tables.write(statements);
      },
    });
    running.push(outbox);
    return {
      host,
      outbox,
      tables,
      writes: () => writes,
      raise: (subject, period = '1') =>
        raiseNotice(
          host.notices,
          'key.expires',
          { subject, period },
          { id: subject, name: subject, expires: '2030-01-01' },
        ),
      async pass() {
        await outbox.run();
        await outbox.run();
        await outbox.waitForMessages();
      },
    };
  }

  const raiseOutage = (host: TestHost, period = '1'): Promise<boolean> =>
    raiseNotice(
      host.notices,
      'ledger.unreachable' satisfies EventName,
      { subject: 'm', period },
      { machine: 'm', reason: 'it is away' },
    );

  async function readSubjects({ tables }: Process, condition = '1 = 1'): Promise<string[]> {
    const sql = `SELECT d.channel, r.subject FROM plugin_notices_deliveries AS d
      JOIN plugin_notices_raised AS r ON r.id = d.notice WHERE ${condition} ORDER BY 1, 2`;
    return (await tables.read({ sql })).map(({ channel, subject }) => `${channel} ${subject}`);
  }

  it('delivers a notice once to each channel, however many processes raise it how often', async () => {
    const [chat, mail] = [createRecorder('chat'), createRecorder('mail')];
    const processes = [
      await startProcess(opened.store, [chat, mail]),
      await startProcess(another, [chat, mail]),
    ];
    const raised = processes.flatMap((each) => Array.from({ length: 20 }, () => each.raise('key-1')));
    await Promise.all(processes.map(({ pass }) => pass()));
    expect(await Promise.all(raised)).toEqual(raised.map(() => true));
    await Promise.all(processes.map(({ pass }) => pass()));
    expect([chat, mail].map(({ messages }) => messages.map(({ lines }) => lines))).toEqual([
      [['The key “key-1” (key-1) expires on 2030-01-01. Rotate it or give it more time.']],
      [['The key “key-1” (key-1) expires on 2030-01-01. Rotate it or give it more time.']],
    ]);
  });

  it('writes nothing for what it has kept, and delivers it again in the next period', async () => {
    const chat = createRecorder('chat');
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-1');
    await process.pass();
    const writes = process.writes();
    expect(await process.raise('key-1')).toBe(true);
    expect(process.writes()).toBe(writes);
    void process.raise('key-1', '2');
    await process.pass();
    expect(chat.messages).toHaveLength(2);
  });

  it('tells a process that starts later what was told already: nothing', async () => {
    const chat = createRecorder('chat');
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-1');
    await process.pass();
    const later = await startProcess(another, [chat]);
    expect(await Promise.all([later.raise('key-1'), later.pass()])).toEqual([true, undefined]);
    expect(chat.messages).toHaveLength(1);
  });

  it('repeats to a channel that fails and to no other, with growing pauses, for a day', async () => {
    const [chat, mail] = [createRecorder('chat'), createRecorder('mail')];
    chat.failures.push(...Array.from({ length: 99 }, () => new SendError('no')));
    const process = await startProcess(opened.store, [chat, mail]);
    void process.raise('key-1');
    const times: number[] = [];
    await process.pass();
    const start = Date.now();
    for (let step = 0; step < 700; step += 1) {
      const before = chat.messages.length;
      advance(step < 100 ? 5000 : 200_000);
      await process.pass();
      if (chat.messages.length > before) times.push(Math.round((Date.now() - start) / 1000));
    }
    expect(mail.messages).toHaveLength(1);
    // Seconds, in steps of the test.
    expect(times.slice(0, 4)).toEqual([5, 15, 35, 75]);
    expect(times.length).toBeLessThan(40);
    expect(Math.max(...times)).toBeLessThan(25 * 3600);
    expect(await process.tables.read({ sql: 'SELECT due, fault FROM plugin_notices_deliveries' })).toEqual(
      expect.arrayContaining([{ due: null, fault: 'no' }]),
    );
    expect(await readSubjects(process, 'd.done IS NULL')).toEqual(['chat key-1']);
  });

  it('lets a message that a channel never accepts hold back no other', async () => {
    const chat = createRecorder('chat', {
      async send(message) {
        chat.messages.push(message);
        if (message.event === 'key.expires') throw new SendError('it does not like it');
      },
    });
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-1');
    await process.pass();
    void raiseOutage(process.host);
    await process.pass();
    await process.pass();
    expect(chat.messages.map(({ event }) => event)).toEqual(['key.expires', 'ledger.unreachable']);
  });

  it('makes one message of many notices of an event, and rests between messages', async () => {
    const chat = createRecorder('chat', { every: 30_000 });
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-0');
    await process.pass();
    for (let number = 1; number <= 25; number += 1) void process.raise(`key-${number}`);
    await process.pass();
    expect(chat.messages).toHaveLength(1);
    advance(31_000);
    await process.pass();
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]).toMatchObject({ title: 'A key expires soon (25)' });
    expect(chat.messages[1]?.lines).toHaveLength(11);
    expect(chat.messages[1]?.lines.at(-1)).toBe('And 15 more.');
  });

  it('waits as long as the channel asks', async () => {
    const chat = createRecorder('chat');
    chat.failures.push(new SendError('too much', 120));
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-1');
    await process.pass();
    advance(100_000);
    await process.pass();
    expect(chat.messages).toHaveLength(1);
    advance(30_000);
    await process.pass();
    expect(chat.messages).toHaveLength(2);
  });

  it('is sent by another process if one stops for good while it sends', async () => {
    const stuck = createRecorder('chat', { timeout: 1000 });
    stuck.failures.push('hang');
    const chat = createRecorder('chat', { timeout: 1000 });
    // What it notes later does not arrive either.
    const dead = await startProcess(opened.store, [stuck]);
    void dead.raise('key-1');
    await dead.outbox.run();
    await dead.outbox.run();
    await expect.poll(() => stuck.messages.length).toBe(1);
    const alive = await startProcess(another, [chat]);
    await alive.pass();
    expect(chat.messages).toEqual([]);
    advance(20_000);
    await alive.pass();
    expect(chat.messages).toHaveLength(1);
  });

  it('says that it is over to those who were told, once, and only if somebody was', async () => {
    const chat = createRecorder('chat');
    const one = await startProcess(opened.store, [chat]);
    const other = await startProcess(another, [chat]);
    one.host.notices.resolve('ledger.audit', 'ledger');
    await one.pass();
    expect(chat.messages).toEqual([]);
    await Promise.all([raiseOutage(one.host), one.pass()]);
    await Promise.all([raiseOutage(other.host), other.pass()]);
    for (const { host } of [one, other]) host.notices.resolve('ledger.unreachable', 'm');
    await Promise.all([one.pass(), other.pass()]);
    await one.pass();
    expect(chat.messages.map(({ isOver, severity }) => [isOver, severity])).toEqual([
      [false, 'critical'],
      [true, 'info'],
    ]);
    // In this period it was told, and in the next one it is again.
    await Promise.all([raiseOutage(one.host), raiseOutage(one.host, '2'), one.pass()]);
    await one.pass();
    expect(chat.messages.map(({ isOver }) => isOver)).toEqual([false, true, false]);
  });

  it('gives channels only what is for them', async () => {
    const [all, none] = [createRecorder('all'), createRecorder('none', { takes: () => false })];
    const process = await startProcess(opened.store, [all, none]);
    void process.raise('key-1');
    await process.pass();
    expect([all.messages.length, none.messages.length]).toEqual([1, 0]);
    expect(await readSubjects(process)).toEqual(['all key-1']);
  });

  it('keeps what is raised during an outage in memory, up to a limit, and delivers it after', async () => {
    const chat = createRecorder('chat');
    const process = await startProcess(opened.store, [chat]);
    outage = new GatewayError('ledger_unavailable', 'The ledger is away.');
    const raised = Array.from({ length: 1005 }, (__, number) => process.raise(`key-${number}`));
    await process.pass();
    expect(chat.messages).toEqual([]);
    outage = undefined;
    await process.pass();
    const kept = await Promise.all(raised);
    expect([kept.filter(Boolean).length, kept.filter((each) => !each).length]).toEqual([1000, 5]);
    await process.pass();
    expect(chat.messages[0]).toMatchObject({ event: 'key.expires' });
  });

  it('drops a notice that cannot be kept, and goes on with the others', async () => {
    const chat = createRecorder('chat');
    const process = await startProcess(opened.store, [chat]);
    outage = new Error('a fault of the statement');
    expect(await Promise.all([process.raise('key-1'), process.pass()])).toEqual([false, undefined]);
    outage = undefined;
    expect(await Promise.all([process.raise('key-2'), process.pass()])).toEqual([true, undefined]);
    expect(chat.messages).toHaveLength(1);
  });

  it('tells what is urgent while the ledger is away, once, and its end when it is back', async () => {
    const [chat, mail] = [createRecorder('chat'), createRecorder('mail')];
    mail.failures.push(new SendError('not now'));
    const process = await startProcess(opened.store, [chat, mail]);
    outage = new GatewayError('ledger_unavailable', 'The ledger is away.');
    void raiseOutage(process.host);
    for (let passes = 0; passes < 3; passes += 1) {
      await process.pass();
      void raiseOutage(process.host);
    }
    expect([chat.messages.length, mail.messages.length]).toEqual([1, 1]);
    advance(11_000);
    await process.pass();
    expect([chat.messages.length, mail.messages.length]).toEqual([1, 2]);
    outage = undefined;
    process.host.notices.resolve('ledger.unreachable', 'm');
    await process.pass();
    await process.pass();
    for (const { messages } of [chat, mail])
      expect(messages.map(({ isOver }) => isOver).slice(-2)).toEqual([false, true]);
    expect([chat.messages.length, mail.messages.length]).toEqual([2, 3]);
  });

  it('deletes old notices and more than it keeps, and gives up what no channel takes', async () => {
    const process = await startProcess(opened.store, []);
    const insert = (id: string, at: number) => ({
      sql: `INSERT INTO plugin_notices_raised (id, event, subject, at, body)
        VALUES ($1, 'a.b', 'c', $2, '{}')`,
      values: [id, at],
    });
    const now = Date.now();
    await process.tables.write([
      insert('old', now - 91 * 24 * hour),
      insert('recent', now - 25 * hour),
      ...Array.from({ length: 10_002 }, (__, number) => insert(`n-${number}`, now - number)),
      {
        sql: `INSERT INTO plugin_notices_deliveries (notice, channel, at, attempts, due)
          VALUES ('n-1', 'gone', $1, 3, $1), ('old', 'gone', $1, 3, $1)`,
        values: [now - 25 * hour],
      },
    ]);
    await process.outbox.tidy();
    const [row] = await process.tables.read({ sql: 'SELECT count(*) AS kept FROM plugin_notices_raised' });
    expect(Number(row?.kept)).toBeGreaterThan(9990);
    expect(Number(row?.kept)).toBeLessThanOrEqual(10_001);
    expect(
      await process.tables.read({ sql: 'SELECT notice, due, fault FROM plugin_notices_deliveries' }),
    ).toEqual([{ notice: 'n-1', due: null, fault: 'it was not sent in time' }]);
  });

  it('erases what it keeps of an account and of keys, and nothing else', async () => {
    const process = await startProcess(opened.store, [createRecorder('chat')]);
    const facts = { account: 'a', left: '0', limit: '1' };
    for (const account of ['a', 'b']) {
      const about = { subject: account, period: '1', accounts: [account, 'company'] };
      void raiseNotice(process.host.notices, 'balance.low', about, facts);
    }
    for (const key of ['key-1', 'key-2', 'key-3']) void process.raise(key);
    await process.pass();
    await process.outbox.erase({ account: 'a', keys: ['key-1'] });
    await process.outbox.erase({ holder: 'ada', keys: ['key-2'] });
    expect(await readSubjects(process)).toEqual(['chat b', 'chat key-3']);
    const deliveries = await process.tables.read({ sql: 'SELECT notice FROM plugin_notices_deliveries' });
    expect(deliveries).toHaveLength(2);
  });

  it('reports what is pending and what it has given up, and how attempts ended', async () => {
    const chat = createRecorder('chat');
    chat.failures.push(new SendError('no'));
    const process = await startProcess(opened.store, [chat]);
    void process.raise('key-1');
    await process.pass();
    const read = async (name: string) =>
      (await process.host.metrics.getSingleMetric(name)?.get())?.values.map(({ labels, value }) => [
        ...Object.values(labels),
        value,
      ]);
    await process.outbox.run();
    expect(await read('tollgate_notices_undelivered')).toEqual([
      ['chat', 'pending', 1],
      ['chat', 'failed', 0],
    ]);
    advance(25 * hour);
    chat.failures.push(new SendError('no'));
    await process.pass();
    await process.outbox.run();
    expect(await read('tollgate_notices_undelivered')).toEqual([
      ['chat', 'pending', 0],
      ['chat', 'failed', 1],
    ]);
    expect(await read('tollgate_notices_total')).toEqual([
      ['chat', 'failed', 1],
      ['chat', 'given-up', 1],
    ]);
  });

  it('ends only when the message that is on its way has arrived', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isSending = false;
    const send = (): Promise<void> => {
      isSending = true;
      return promise;
    };
    const process = await startProcess(opened.store, [createRecorder('chat', { send })]);
    void process.raise('key-1');
    await expect.poll(() => isSending).toBe(true);
    let isOver = false;
    const stopping = process.outbox.stop().then(() => void (isOver = true));
    await sleep(50);
    expect(isOver).toBe(false);
    resolve();
    await stopping;
    expect(await readSubjects(process, 'd.done IS NOT NULL')).toEqual(['chat key-1']);
  });
});
