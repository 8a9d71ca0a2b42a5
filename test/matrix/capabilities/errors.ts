/** What is no reply: errors in both phases, and counts of tokens. */
import { buildPath, getModel, type Crossing, type FourWires, type Wire } from '../../support/four-wires.ts';
import { isObject, type Json } from '../../support/json.ts';
import { readData, readObjects } from '../../support/listen.ts';
import { postJson } from '../../support/post.ts';
import type { Scenario } from '../../support/vendor/scenario.ts';
import type { Capability } from '../capability.ts';
import { fillWires } from '../capability.ts';
import { least } from '../spelling.ts';

/** The fields by which each family's SDK knows an error body. */
const errorBodies: Readonly<Record<Wire, (body: Json) => boolean>> = {
  'chat-completions': ({ error }) =>
    isObject(error) && typeof error.message === 'string' && 'type' in error && 'code' in error,
  responses: ({ error }) =>
    isObject(error) && typeof error.message === 'string' && 'type' in error && 'code' in error,
  messages: ({ type, error }) =>
    type === 'error' &&
    isObject(error) &&
    typeof error.type === 'string' &&
    typeof error.message === 'string',
  'generate-content': ({ error }) =>
    isObject(error) &&
    typeof error.code === 'number' &&
    typeof error.status === 'string' &&
    typeof error.message === 'string',
};

/** How each protocol's stream reports an error, and what it must not contain then. */
const brokenStreams: Readonly<Record<Wire, (text: string, events: readonly Json[]) => boolean>> = {
  'chat-completions': (text, events) =>
    isObject(events.at(-1)?.error) && !text.includes('[DONE]') && !text.includes('"finish_reason":"stop"'),
  responses: (text, events) =>
    ['response.failed', 'error'].includes(String(events.at(-1)?.type)) &&
    !text.includes('response.completed'),
  messages: (text, events) => events.at(-1)?.type === 'error' && !text.includes('message_stop'),
  'generate-content': (text, events) =>
    isObject(events.at(-1)?.error) && !text.includes('"finishReason":"STOP"'),
};

async function run(
  harness: FourWires,
  client: Wire,
  wire: Wire,
  scenario: Scenario,
  stream: boolean,
): Promise<Crossing> {
  const { id, upstream } = getModel(wire);
  harness.vendors[wire].script(upstream, scenario);
  return harness.ask(client, id, least[client], stream);
}

function refuse(status: number, retryAfter?: string): Scenario {
  const error = { type: 'error', message: 'Later, please.', code: status, status: 'UNAVAILABLE' };
  return {
    reply: {
      status,
      body: { type: 'error', error },
      ...(retryAfter ? { headers: { 'retry-after': retryAfter } } : {}),
    },
  };
}

function check(name: string, judge: NonNullable<Capability['judge']>): Capability {
  return { name, ask: fillWires({}), judge };
}

function expectThat(holds: boolean, what: string): 'works' {
  if (!holds) throw new Error(what);
  return 'works';
}

/**
 * How many events a wire's reply takes to have said something: before that another vendor may still take
 * over.
 */
function countOpeningEvents(wire: Wire): number {
  return wire === 'responses' ? 6 : 4;
}

const words = { text: ['one ', 'two ', 'three ', 'four ', 'five'] };

async function countTokens(
  harness: FourWires,
  client: Wire,
  wire: Wire,
): Promise<{ readonly status: number; readonly body: Json; readonly estimated: boolean }> {
  const { id } = getModel(wire);
  const path = buildPath(client, id, false)
    .replace(/\/responses$/, '/responses/input_tokens')
    .replace(/\/messages$/, '/messages/count_tokens')
    .replace(/:generateContent$/, ':countTokens');
  const { max_tokens: _limit, ...body } = { max_tokens: 0, ...least[client] };
  const response = await postJson(
    harness.gateway.url + path,
    client === 'generate-content' ? body : { model: id, ...body },
    { authorization: `Bearer ${harness.key}`, 'anthropic-version': '2023-06-01' },
  );
  const answer: unknown = await response.json();
  return {
    status: response.status,
    body: isObject(answer) ? answer : {},
    estimated: [...response.headers.keys()].some((name) => name.includes('estimate')),
  };
}

export const errors: readonly Capability[] = [
  check('errors before a reply', async (harness, client, wire) => {
    const { status, text } = await run(harness, client, wire, refuse(500), false);
    return expectThat(
      status >= 500 && errorBodies[client](JSON.parse(text)),
      `${client} to ${wire}: ${status} ${text}`,
    );
  }),
  check('rate limits, with retry-after', async (harness, client, wire) => {
    const { status, text, headers } = await run(harness, client, wire, refuse(429, '7'), true);
    return expectThat(
      status === 429 && headers.get('retry-after') === '7' && errorBodies[client](JSON.parse(text)),
      `${client} to ${wire}: ${status} ${text} ${headers.get('retry-after')}`,
    );
  }),
  check('errors inside a stream', async (harness, client, wire) => {
    const { status, text } = await run(
      harness,
      client,
      wire,
      { ...words, fail: { after: countOpeningEvents(wire) } },
      true,
    );
    return expectThat(
      status === 200 && brokenStreams[client](text, readData(text)),
      `${client} to ${wire}: ${status} ${text}`,
    );
  }),
  check('cut streams', async (harness, client, wire) => {
    const { status, text } = await run(
      harness,
      client,
      wire,
      { ...words, cut: { how: 'end', events: countOpeningEvents(wire) } },
      true,
    );
    return expectThat(
      status === 200 && brokenStreams[client](text, readData(text)),
      `${client} to ${wire}: ${status} ${text}`,
    );
  }),
  check('JSON in place of a stream', async (harness, client, wire) => {
    const { status, text } = await run(harness, client, wire, { ...words, shape: 'json' }, true);
    return expectThat(
      status === 200 && text.includes('five') && !brokenStreams[client](text, readData(text)),
      `${client} to ${wire}: ${status} ${text}`,
    );
  }),
  {
    name: 'token counts',
    ask: { responses: {}, messages: {}, 'generate-content': {} },
    possible: (_client, wire) => wire !== 'chat-completions',
    async judge(harness, client, wire) {
      const { status, body, estimated } = await countTokens(harness, client, wire);
      const tokens = body.input_tokens ?? body.totalTokens;
      expectThat(
        status === 200 && typeof tokens === 'number' && tokens > 0 && readObjects(body.error).length === 0,
        `${client} to ${wire}: ${status} ${JSON.stringify(body)}`,
      );
      return estimated ? 'approximated' : 'works';
    },
  },
];
