/**
 * The gateway reports what a provider said and a client's protocol has no field for, whole and streamed
 * alike, and nothing else.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ReplyContext } from '../../core/index.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const plain: Readonly<Record<Wire, object>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }] },
  responses: { model: 'a/b', input: 'Hello' },
  messages: { model: 'a/b', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
};

function replyOf(wire: Wire, name: string): CanonicalEvent[] {
  const body: unknown = JSON.parse(
    readFileSync(new URL(`../golden/${wire}/${name}/reply.json`, import.meta.url), 'utf8'),
  );
  return families[wire].protocol.upstream.decodeReply(body, readCall(wire, plain[wire]));
}

/** The kinds of losses when a reply is written for a client of a wire. */
function lostFor(client: Wire, events: readonly CanonicalEvent[], streamed: boolean): string[] {
  const { client: side } = families[client].protocol;
  const kinds = new Set<string>();
  const context: ReplyContext = {
    id: 'k1',
    model: 'a/b',
    created: 1,
    call: readCall(client, plain[client], streamed),
    lost: (kind) => void kinds.add(kind),
  };
  if (streamed) {
    const encoder = side.encodeEvents(context);
    for (const event of events) encoder.push(event);
  } else {
    side.encodeReply(events, context);
  }
  return [...kinds].toSorted();
}

const rows: readonly [vendor: Wire, name: string, lost: Partial<Record<Wire, string[]>>][] = [
  ['chat-completions', 'text', {}],
  ['chat-completions', 'parallel-tool-calls', {}],
  ['chat-completions', 'candidates', { responses: ['candidates[1]'], messages: ['candidates[1]'] }],
  ['chat-completions', 'citations', {}],
  [
    'chat-completions',
    'media-output',
    { responses: ['audio'], messages: ['audio', 'image'], 'generate-content': ['audio.transcript'] },
  ],
  [
    'responses',
    'web-search',
    {
      'chat-completions': ['annotations.file', 'server-tool'],
      messages: ['annotations.file', 'server-tool'],
      'generate-content': ['annotations', 'server-tool'],
    },
  ],
  ['responses', 'logprobs', { messages: ['logprobs'] }],
  [
    'messages',
    'web-search',
    { 'chat-completions': ['server-tool'], responses: ['server-tool'], 'generate-content': ['server-tool'] },
  ],
  ['messages', 'thinking', {}],
  [
    'generate-content',
    'code-execution',
    { 'chat-completions': ['code', 'server-tool'], messages: ['code', 'server-tool'] },
  ],
  ['generate-content', 'grounding', {}],
  // One of its pictures is a draft within its reasoning.
  [
    'generate-content',
    'image-output',
    { 'chat-completions': ['server-tool'], responses: ['server-tool'], messages: ['image', 'server-tool'] },
  ],
];

describe.each(rows)('the %s reply "%s"', (vendor, name, lost) => {
  const events = replyOf(vendor, name);

  it.each(wires)('reports for a client of %s every loss, and no more', (client) => {
    const expected = lost[client] ?? [];
    expect(lostFor(client, events, false)).toEqual(expected);
    expect(lostFor(client, events, true)).toEqual(expected);
  });
});

describe('what a provider says about its reply as such', () => {
  const started = (owner: string, fields: Record<string, unknown>): CanonicalEvent[] => [
    { type: 'response-start', vendor: { [owner]: fields } },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
    { type: 'response-end' },
  ];

  it.each(wires)('reaches clients of %s as far as they may need it', (client) => {
    expect(
      lostFor(
        client,
        started('another', { container: { id: 'c' }, moderation: {}, system_fingerprint: 'f' }),
        true,
      ),
    ).toEqual(['container', 'moderation']);
    expect(lostFor(client, started(client, { container: { id: 'c' } }), false)).toEqual([]);
  });
});

describe('the reason that a reply ended', () => {
  const ended = (finish: Partial<Extract<CanonicalEvent, { type: 'finish' }>>): CanonicalEvent[] => [
    { type: 'response-start' },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' }, ...finish },
    { type: 'response-end' },
  ];

  it('is reported as lost to clients of messages if that protocol has no word for it', () => {
    expect(lostFor('messages', ended({ reason: { unified: 'other', raw: 'MALFORMED' } }), true)).toEqual([
      'finish',
    ]);
    expect(lostFor('messages', ended({ reason: { unified: 'pause', raw: 'pause_turn' } }), false)).toEqual(
      [],
    );
  });

  it('reaches clients of chat-completions beside the usual word, except the sequence it stopped at', () => {
    expect(
      lostFor('chat-completions', ended({ reason: { unified: 'other', raw: 'MALFORMED' } }), false),
    ).toEqual([]);
    expect(
      lostFor(
        'chat-completions',
        ended({ reason: { unified: 'stop-sequence', raw: 'stop_sequence' }, stopSequence: '\n' }),
        true,
      ),
    ).toEqual(['stopSequence']);
  });
});
