import { describe, expect, it } from 'vitest';
import { readTagsHeader } from '../../core/index.ts';
import { ChatCall } from '../../plugins/protocols/chat-completions/call.ts';
import { getAttribution } from '../../plugins/shared/attribution.ts';

type Exchange = Parameters<typeof getAttribution>[0];

function readAttribution(
  headers: Exchange['headers'],
  body: Pick<ConstructorParameters<typeof ChatCall>[0], 'user' | 'safety_identifier' | 'metadata'> = {},
  tags: readonly string[] = [],
) {
  const call = new ChatCall({ model: 'm', messages: [], ...body }, '');
  return getAttribution({ headers, call, principal: { kind: 'user', account: 'a', key: 'k', tags } });
}

it('the header of tags reads names and values, and ignores spaces and empty parts', () => {
  expect(readTagsHeader('team:search, env:prod,, research ,url:a:b/c')).toEqual([
    ['team', 'search'],
    ['env', 'prod'],
    ['research', ''],
    ['url', 'a:b/c'],
  ]);
});

it.each([
  ['team=search', /"team=search" is not a tag/],
  ['team:', /"team:" is not a tag/],
  [':search', /is not a tag/],
  [`${'n'.repeat(65)}:v`, /is not a tag/],
  [`n:${'v'.repeat(129)}`, /is not a tag/],
  ['team:a,team:b', /more than one tag named "team"/],
  [Array.from({ length: 21 }, (_, index) => `t${index}`).join(), /more than 20 tags/],
  [Array.from({ length: 500 }, (_, index) => `t${index}`).join(), /more than 20 tags/],
])('the header of tags refuses %s by name', (header, message) => {
  expect(() => readTagsHeader(header)).toThrow(message);
  expect(() => readTagsHeader(header)).toThrow('x-tollgate-tags');
});

it('the header of tags takes names, values and numbers of tags up to their limits', () => {
  expect(readTagsHeader(`${'n'.repeat(64)}:${'v'.repeat(128)}`)).toHaveLength(1);
  expect(readTagsHeader(Array.from({ length: 20 }, (_, index) => `t${index}`).join())).toHaveLength(20);
});

describe('the tags of a call', () => {
  it('are one shared object for all calls that have none', () => {
    expect(readAttribution({}).texts).toEqual([]);
    expect(readAttribution({})).toBe(readAttribution({ accept: '*/*' }));
  });

  it('come from the key, then the header, then the body, and the first of a name holds', () => {
    const { texts, byName } = readAttribution(
      { 'x-tollgate-tags': 'team:mine,env:prod' },
      { metadata: { env: 'test', job: 'nightly', team: 'other' }, user: 'ann' },
      ['team:search', 'team:house', 'research'],
    );
    expect(byName).toEqual({
      team: 'search',
      'team:house': '',
      research: '',
      env: 'prod',
      user: 'ann',
      job: 'nightly',
    });
    expect(texts).toEqual(['team:search', 'team:house', 'research', 'env:prod', 'user:ann', 'job:nightly']);
  });

  it.each<[string, Exchange['headers'], object]>([
    [
      'Claude Code',
      {
        'x-claude-code-session-id': 's',
        'x-claude-code-agent-id': 'a',
        'x-claude-code-parent-agent-id': 'p',
      },
      { session: 's', agent: 'a', 'parent-agent': 'p' },
    ],
    ['Codex', { 'session-id': 's', 'thread-id': 's' }, { session: 's' }],
    [
      'a thread that another thread of Codex started',
      { 'session-id': 's', 'thread-id': 't', 'x-codex-parent-thread-id': 's' },
      { session: 's', agent: 't', 'parent-agent': 's' },
    ],
    ['an older Codex', { session_id: 's' }, { session: 's' }],
    ['opencode', { 'x-session-id': 's' }, { session: 's' }],
    [
      'a caller who names a session',
      { 'x-session-id': 's', 'x-tollgate-tags': 'session:own' },
      { session: 'own' },
    ],
  ])('have the session and agents of %s', (_, headers, tags) => {
    expect(readAttribution(headers).byName).toEqual(tags);
  });

  it.each<[string, string, object]>([
    ['joined with underscores', 'user_1_account_2_session_3', { user: 'user_1_account_2', session: '3' }],
    ['as JSON', '{"device_id":"d","account_uuid":"u","session_id":"s"}', { user: 'u', session: 's' }],
    ['as JSON without an account', '{"device_id":"d","account_uuid":""}', { user: 'd' }],
    ['as broken JSON', '{"device', { user: '{"device' }],
    ['as JSON of another kind', '{"device_id":5}', { user: '{"device_id":5}' }],
  ])('have the end user and the session that an agent writes %s', (_, user, tags) => {
    expect(readAttribution({}, { user }).byName).toEqual(tags);
  });

  it.each([
    ['x-claude-code-session-id', 'session'],
    ['x-claude-code-agent-id', 'agent'],
    ['x-claude-code-parent-agent-id', 'parent-agent'],
    ['thread-id', 'agent'],
    ['x-codex-parent-thread-id', 'parent-agent'],
  ])('have what the header %s alone says', (name, tag) => {
    expect(readAttribution({ [name]: 'value' }).byName).toEqual({ [tag]: 'value' });
  });

  it('have the safety identifier as end user if there is no other', () => {
    expect(readAttribution({}, { safety_identifier: 'hash' }).byName).toEqual({ user: 'hash' });
  });

  it('are cut to the limits, and free of what a database or a log cannot hold', () => {
    const { byName } = readAttribution(
      { 'session-id': 'x'.repeat(500) },
      { metadata: { 'a b:c': `one\n\u0000two${'y'.repeat(200)}`, half: `${'z'.repeat(127)}😀`, '': 'none' } },
    );
    expect(byName.session).toBe('x'.repeat(128));
    expect(byName.a_b_c).toMatch(/^one twoy+$/);
    expect(byName.half).toBe(`${'z'.repeat(127)}\ufffd`);
    expect(Object.keys(byName)).toEqual(['session', 'a_b_c', 'half']);
  });

  it('are at most sixty', () => {
    const keys = Array.from({ length: 16 }, (_, index) => `k${index}`);
    const header = Array.from({ length: 20 }, (_, index) => `h${index}`).join();
    const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`m${index}`, 'v']));
    const { texts, byName } = readAttribution({ 'x-tollgate-tags': header }, { metadata }, keys);
    expect(texts).toHaveLength(60);
    expect(Object.keys(byName)).toHaveLength(60);
    expect(texts.at(-1)).toBe('m23:v');
  });

  it('of a call that a wrong header refuses are those of the key', () => {
    expect(readAttribution({ 'x-tollgate-tags': '!' }, {}, ['team:search']).texts).toEqual(['team:search']);
  });
});
