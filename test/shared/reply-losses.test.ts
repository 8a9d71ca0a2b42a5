/**
 * The gateway reports what a provider said and a client's protocol has no field for, whole and streamed
 * alike, and nothing else.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ReplyContext } from '../../core/index.ts';
import { readCases } from '../support/cases.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const plain: Readonly<Record<Wire, object>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }] },
  responses: { model: 'a/b', input: 'Hello' },
  messages: {
    model: 'a/b',
    max_tokens: 20,
    thinking: { type: 'adaptive' },
    messages: [{ role: 'user', content: 'Hello' }],
  },
  'generate-content': {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
};

function decodeGolden(wire: Wire, name: string): CanonicalEvent[] {
  const body: unknown = JSON.parse(
    readFileSync(new URL(`../golden/${wire}/${name}/reply.json`, import.meta.url), 'utf8'),
  );
  return families[wire].protocol.upstream.decodeReply(body, readCall(wire, plain[wire]));
}

/** The kinds of losses when a reply is written for a client of a wire. */
function listLost(client: Wire, events: readonly CanonicalEvent[], streamed: boolean): string[] {
  const { client: side } = families[client].protocol;
  const kinds = new Set<string>();
  const context: ReplyContext = {
    id: 'k1',
    model: 'a/b',
    created: 1,
    call: readCall(client, plain[client], streamed),
    reportLoss: (kind) => void kinds.add(kind),
  };
  if (streamed) {
    const encoder = side.encodeEvents(context);
    for (const event of events) encoder.push(event);
  } else {
    side.encodeReply(events, context);
  }
  return [...kinds].toSorted();
}

const rows = readCases<readonly [vendor: Wire, name: string, lost: Partial<Record<Wire, string[]>>][]>(
  'reply-losses.json',
  import.meta.url,
);

describe.each(rows)('the %s reply "%s"', (vendor, name, lost) => {
  const events = decodeGolden(vendor, name);

  it.each(wires)('reports for a client of %s every loss, and no more', (client) => {
    const expected = lost[client] ?? [];
    expect(listLost(client, events, false)).toEqual(expected);
    expect(listLost(client, events, true)).toEqual(expected);
  });
});

it.each(wires)('a picture by its URL reaches clients of %s, or is reported as lost', (client) => {
  const { upstream } = families['chat-completions'].protocol;
  const message = { role: 'assistant', images: [{ image_url: { url: 'https://house.example/a.png' } }] };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const events = upstream.decodeReply({ choices }, readCall('chat-completions', plain['chat-completions']));
  const expected = client === 'responses' || client === 'messages' ? ['image'] : [];
  expect(listLost(client, events, false)).toEqual(expected);
  expect(listLost(client, events, true)).toEqual(expected);
});

describe('what a provider says about its reply as such', () => {
  const buildStarted = (owner: string, fields: Record<string, unknown>): CanonicalEvent[] => [
    { type: 'response-start', vendor: { [owner]: fields } },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
    { type: 'response-end' },
  ];

  it.each(wires)('reaches clients of %s as far as they may need it', (client) => {
    expect(
      listLost(
        client,
        buildStarted('another', { container: { id: 'c' }, moderation: {}, system_fingerprint: 'f' }),
        true,
      ),
    ).toEqual(['container', 'moderation']);
    expect(listLost(client, buildStarted(client, { container: { id: 'c' } }), false)).toEqual([]);
  });
});

describe('the reason that a reply ended', () => {
  const buildEnded = (finish: Partial<Extract<CanonicalEvent, { type: 'finish' }>>): CanonicalEvent[] => [
    { type: 'response-start' },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' }, ...finish },
    { type: 'response-end' },
  ];

  it('is reported as lost to clients of messages if that protocol has no word for it', () => {
    expect(
      listLost('messages', buildEnded({ reason: { unified: 'other', raw: 'MALFORMED' } }), true),
    ).toEqual(['finish']);
    expect(
      listLost('messages', buildEnded({ reason: { unified: 'pause', raw: 'pause_turn' } }), false),
    ).toEqual([]);
  });

  it('reaches clients of chat-completions beside the usual word, except the sequence it stopped at', () => {
    expect(
      listLost('chat-completions', buildEnded({ reason: { unified: 'other', raw: 'MALFORMED' } }), false),
    ).toEqual([]);
    expect(
      listLost(
        'chat-completions',
        buildEnded({ reason: { unified: 'stop-sequence', raw: 'stop_sequence' }, stopSequence: '\n' }),
        true,
      ),
    ).toEqual(['stopSequence']);
  });
});
