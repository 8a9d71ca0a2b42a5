/** People, sessions and waiting devices in the tables of both ledgers, seen by two processes. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { declaration, People, type PersonRow } from '../../plugins/operations/sign-in/people.ts';
import { ledgers } from '../balance/postgres-database.ts';
import type { OpenedStore } from '../contract/books.ts';

const known = {
  id: 'p1',
  subject: 'ann',
  holder: 'ann@house.example#p1',
  name: 'ann@house.example',
  role: 'member',
  accounts: ['search'],
  refresh: 'sealed',
} as const;
const hour = 3_600_000;

describe.each(ledgers)('people in the tables of a %s ledger', (_, open) => {
  let opened: OpenedStore;
  let another: Store;
  let here: People;
  let there: People;
  beforeEach(async () => {
    opened = await open();
    another = await opened.another();
    [here, there] = [await openPeople(opened.store), await openPeople(another)];
  });
  afterEach(async () => {
    vi.useRealTimers();
    await another.close();
    await opened.dispose();
  });

  const openPeople = async (store: Store): Promise<People> =>
    new People(await new PluginTables(() => store, pino({ enabled: false })).open(declaration));
  const admit = async (changes: Partial<PersonRow> = {}): Promise<void> =>
    void (await here.admit({ ...known, accounts: [...known.accounts], ...changes }));
  const start = async (sid: string | null = null) => {
    const ends = Date.now() + hour;
    return here.start({ person: 'p1', sid, ends });
  };

  it('a session that one process starts and another ends has ended for both', async () => {
    await admit();
    const [first, second] = [await start('one'), await start('two')];
    expect(await there.open(first)).toMatchObject({ id: 'p1', sid: 'one', role: 'member', used: null });
    await there.end({ by: 'sid', value: 'one' });
    expect(await here.open(first)).toBeUndefined();
    expect(await here.open(second)).toMatchObject({ accounts: ['search'] });
    await there.end({ by: 'person', value: 'p1' });
    expect(await here.open(second)).toBeUndefined();
  });

  it('a session ends in time, and is swept away with its tokens', async () => {
    await admit();
    const token = await start();
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + 2 * hour);
    expect(await here.open(token)).toBeUndefined();
    await here.sweep();
    vi.useRealTimers();
    expect(await here.open(token)).toBeUndefined();
  });

  it('of several processes one asks about a person who is due', async () => {
    await admit();
    const now = Date.now();
    expect(await here.listDue(now + 1, now + 1, 10)).toMatchObject([{ id: 'p1', refresh: 'sealed' }]);
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(now + hour);
    const claims = await Promise.all([here, there, here, there].map((each) => each.claim('p1', 60_000)));
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
    expect(await there.listDue(now + hour, now, 10)).toEqual([]);
  });

  it('who was removed stays so at a sign-in, and who was refused comes back', async () => {
    await admit();
    await here.setState('p1', 'refused', 'sign-in');
    expect(await there.listUnsettled(10)).toMatchObject([{ id: 'p1', author: 'sign-in' }]);
    await here.setSuspended('p1', ['k1']);
    expect(await there.listUnsettled(10)).toEqual([]);
    await admit({ name: 'ann@new.example', holder: 'another', refresh: 'sealed anew' });
    expect(await there.listUnsettled(10)).toMatchObject([
      {
        name: 'ann@new.example',
        holder: known.holder,
        refresh: 'sealed anew',
        suspended: ['k1'],
        state: 'active',
      },
    ]);
    await here.setState('p1', 'removed', 'owner');
    expect(await there.admit({ ...known, accounts: [] })).toBeUndefined();
    expect(await there.find(known.holder)).toMatchObject([{ state: 'removed', author: 'owner' }]);
  });

  it('a waiting device is answered once and taken once', async () => {
    await admit();
    const [code, ends] = ['BCDFGHJK', Date.now() + hour];
    expect(await here.askForDevice('gd-one', code, 'test', ends)).toBe(true);
    await expect(there.askForDevice('gd-two', code, 'test', ends)).rejects.toThrow();
    expect(await here.poll('gd-two')).toBeUndefined();
    const found = await there.findDevice(code);
    expect(found).toMatchObject({ person: null, client: 'test', used: null });
    expect(await here.open('gd-one')).toBeUndefined();
    const answer = { person: 'p1', sid: null, ends };
    const answers = await Promise.all(
      [here, there].map((each) => each.answer(found?.session ?? '', answer, 'handle')),
    );
    expect(answers.toSorted()).toEqual([false, true]);
    expect(await here.findDevice(code)).toBeUndefined();
    expect(await here.poll('gd-one')).toMatchObject({ person: 'p1' });
    expect(await there.open('gd-one')).toMatchObject({ id: 'p1', handle: 'handle' });
    const takes = await Promise.all([here, there].map((each) => each.take('gd-one')));
    expect(takes.toSorted()).toEqual([false, true]);
  });

  it('nothing is left of a person who is erased', async () => {
    await admit();
    const token = await start();
    await there.erase(known.holder);
    expect([await here.open(token), await here.list('', 10)]).toEqual([undefined, []]);
  });

  it('a logout counts once, and a session that begins after it stays', async () => {
    await admit();
    const before = await start();
    const logOut = (each: People) => each.logOut({ by: 'person', value: 'p1' }, 'j1', Date.now() + hour);
    expect((await Promise.all([here, there].map(logOut))).toSorted()).toEqual([false, true]);
    const after = await start();
    expect(await logOut(there)).toBe(false);
    expect(await here.open(before)).toBeUndefined();
    expect(await here.open(after)).toMatchObject({ id: 'p1' });
  });
});
