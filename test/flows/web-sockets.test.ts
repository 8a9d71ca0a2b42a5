/**
 * Responses over WebSocket: the official SDK, and clients that send raw frames, hold conversations through
 * the gateway with vendors of every wire.
 */
import OpenAI from 'openai';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { buildPath, getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';
import { readData } from '../support/listen.ts';
import { postJson } from '../support/post.ts';
import { isEnd, openSocket, type SocketClient } from '../support/web-socket.ts';

let harness: FourWires;
const opened: SocketClient[] = [];
beforeAll(async () => {
  harness = await openFourWires(undefined, [webSockets()]);
});
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.close();
});

async function connect(): Promise<SocketClient> {
  const client = await openSocket(harness.gateway.url, harness.key);
  opened.push(client);
  return client;
}

const wire = 'messages';
const { id: model, upstream } = getModel(wire);

function listSent(): string[] {
  return harness.vendors[wire].requests.map(({ body }) => body.toString());
}

function getResponse(frame: object): Record<string, unknown> {
  return { ...readObject('response' in frame ? frame.response : undefined) };
}

const tool = {
  type: 'function' as const,
  name: 'tide_at',
  description: 'When the tide turns.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { harbour: { type: 'string' } },
    required: ['harbour'],
    additionalProperties: false,
  },
};

/** One turn of a conversation: sends what is new, and reads events up to the end of the response. */
async function takeTurn(
  socket: ResponsesWS,
  asked: string,
  input: ResponseInput,
  previous?: Response,
): Promise<Response> {
  const events = socket.stream();
  socket.send({
    type: 'response.create',
    model: asked,
    input,
    tools: [tool],
    store: false,
    include: ['reasoning.encrypted_content'],
    previous_response_id: previous?.id ?? null,
  });
  for await (const event of events) {
    if (event.type === 'error') throw event.error;
    if (event.type === 'close') throw new Error(`closed: ${event.code}`);
    if (event.type === 'message' && event.message.type === 'response.completed')
      return event.message.response;
  }
  throw new Error('the stream ended');
}

function callTide(harbour: string): { name: string; arguments: string } {
  return { name: 'tide_at', arguments: JSON.stringify({ harbour }) };
}

function say(text: string): ResponseInput {
  return [{ role: 'user', content: text }];
}

function answerCalls({ output }: Response, result: string): ResponseInput {
  return output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: result }]
      : [],
  );
}

describe.each(wires)('the openai SDK on a WebSocket, with a vendor of %s', (wire) => {
  it('holds a conversation of five turns with tools and sends only what is new', async () => {
    const { id, upstream } = getModel(wire, 'thinking');
    harness.vendors[wire].script(
      upstream,
      { reasoning: 'Which?', text: 'Two calls. ', toolCalls: [callTide('Hull'), callTide('Oslo')] },
      { text: 'Noon and one.' },
      { toolCalls: [callTide('Whitby')] },
      { text: 'Three.' },
      { text: 'Good bye.' },
    );
    const socket = new ResponsesWS(new OpenAI({ apiKey: harness.key, baseURL: `${harness.gateway.url}/v1` }));
    const first = await takeTurn(socket, id, say('Tides at Hull and Oslo?'));
    expect(answerCalls(first, '')).toHaveLength(2);
    const second = await takeTurn(socket, id, answerCalls(first, 'at noon'), first);
    const third = await takeTurn(socket, id, say('And Whitby?'), second);
    const fourth = await takeTurn(socket, id, answerCalls(third, 'at three'), third);
    const fifth = await takeTurn(socket, id, say('Thanks.'), fourth);
    expect(JSON.stringify(fifth.output)).toContain('Good bye.');
    expect(fifth.previous_response_id).toBe(fourth.id);
    const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
    const said = [
      'Hull and Oslo?',
      'Noon and one.',
      'at noon',
      'And Whitby?',
      'at three',
      'Three.',
      'Thanks.',
    ];
    expect(said.filter((part) => !sent.includes(part))).toEqual([]);
    socket.close();
  });
});

it('a WebSocket sends the events that the same call by HTTP sends', async () => {
  const { id, upstream } = getModel('responses', 'thinking');
  const scenario = { reasoning: 'I count.', text: ['Two', ' boats.'] };
  harness.vendors.responses.script(upstream, scenario);
  const body = { model: id, input: 'How many?', reasoning: { effort: 'low' } };
  const reply = await postJson(
    harness.gateway.url + buildPath('responses', id, true),
    { ...body, stream: true },
    { authorization: `Bearer ${harness.key}` },
  );
  const byHttp = readData(await reply.text());
  const client = await connect();
  await client.create(body);
  const list = (events: readonly object[]): unknown[] =>
    events.map((event) => {
      const { type, delta, sequence_number: number } = { ...readObject(event) };
      return [type, delta, number];
    });
  expect(byHttp.length).toBeGreaterThan(5);
  expect(list(client.frames)).toEqual(list(byHttp));
});

it('a warm-up calls no vendor, and the next response continues from its input', async () => {
  harness.vendors[wire].script(upstream, { text: 'Two boats.' });
  const client = await connect();
  const [before, ends] = [listSent().length, harness.gateway.ends.length];
  const warm = await client.create({
    model,
    generate: false,
    input: 'There are boats.',
    max_output_tokens: 100,
  });
  expect(warm).toMatchObject({
    type: 'response.completed',
    response: { status: 'completed', output: [], usage: { total_tokens: 0 }, model, max_output_tokens: 100 },
  });
  expect([listSent().length, harness.gateway.ends.length]).toEqual([before, ends]);
  const { id } = getResponse(warm);
  await client.create({ model, previous_response_id: id, input: 'How many?' });
  expect(listSent().at(-1)).toMatch(/There are boats\.[^]*How many\?/);
});

it('a warm-up without input, as Codex sends it, is continued too', async () => {
  harness.vendors[wire].script(upstream, { text: 'Two boats.' });
  const client = await connect();
  const warm = await client.create({ model, generate: false, input: [], tools: [tool], stream: true });
  const reply = await client.create({
    model,
    previous_response_id: getResponse(warm).id,
    input: say('Boats?'),
  });
  expect(reply).toMatchObject({ type: 'response.completed' });
});

it('a warm-up for a model that does not exist is refused like its call', async () => {
  const client = await connect();
  expect(await client.create({ model: 'house/none', generate: false, input: 'Hello.' })).toMatchObject({
    type: 'error',
    status: 404,
    error: { code: 'model_not_found', param: 'model' },
  });
});

it('responses of several lanes run at once, and those of one lane follow each other', async () => {
  const held = Promise.withResolvers<void>();
  harness.vendors[wire].script(
    upstream,
    { text: ['one', 'two', 'three', 'four'], hold: held.promise, holdAfter: 5 },
    { text: 'Meanwhile.' },
    { text: 'Afterwards.' },
  );
  const client = await connect();
  const start = (lane: string, input: string): void =>
    client.send({ type: 'response.create', model, stream_id: lane, input });
  start('a', 'First.');
  await client.waitFor(({ type }) => type === 'response.output_text.delta');
  const before = listSent().length;
  start('a', 'Third.');
  start('b', 'Second.');
  const second = await client.waitFor((frame) => frame.stream_id === 'b' && isEnd(frame));
  expect(JSON.stringify(second)).toContain('Meanwhile.');
  expect(listSent().length).toBe(before + 1);
  held.resolve();
  await client.waitFor((frame) => isEnd(frame) && JSON.stringify(frame).includes('Afterwards.'));
  expect(client.frames.every(({ stream_id: lane }) => lane === 'a' || lane === 'b')).toBe(true);
});

it('several responses may continue the same one, also in another lane', async () => {
  harness.vendors[wire].script(upstream, { text: 'A harbour.' }, { text: 'Left.' }, { text: 'Right.' });
  const client = await connect();
  const { id } = getResponse(await client.create({ model, input: 'Where?' }));
  for (const [lane, input] of [
    ['left', 'Go left.'],
    ['right', 'Go right.'],
  ]) {
    await client.create({ model, stream_id: lane, previous_response_id: id, input });
    expect(listSent().at(-1)).toMatch(new RegExp(`Where\\?[^]*A harbour\\.[^]*${input}`));
  }
  expect(listSent().at(-1)).not.toContain('Go left.');
});

it('instructions of an earlier response are not inherited', async () => {
  harness.vendors[wire].script(upstream, { text: 'Aye.' });
  const client = await connect();
  const first = await client.create({ model, instructions: 'Speak like a sailor.', input: 'Hello.' });
  await client.create({ model, previous_response_id: getResponse(first).id, input: 'And now?' });
  expect(listSent().at(-1)).not.toContain('sailor');
});

it('the numbers of earlier items keep their digits, and their text its characters', async () => {
  const { id, upstream } = getModel('responses');
  harness.vendors.responses.script(upstream, { text: 'Yes.' });
  const client = await connect();
  const part =
    '{"type":"output_text","text":"H\u00e9l\u00e8ne \ud83d\udea2","annotations":[],"logprobs":' +
    '[{"token":"H","logprob":-0.50,"bytes":[72],"top_logprobs":[]}]}';
  const item = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[${part}]}`;
  const body = `{"type":"response.create","model":"${id}","input":[${item},{"role":"user","content":"Hi."}]}`;
  client.socket.send(body);
  const first = await client.waitFor(isEnd);
  await client.create({ model: id, previous_response_id: getResponse(first).id, input: 'And?' });
  const sent = harness.vendors.responses.requests.at(-1)?.body.toString() ?? '';
  expect(sent).toContain('"logprob":-0.50');
  expect(sent).toContain('H\u00e9l\u00e8ne \ud83d\udea2');
});

it('reasoning that no vendor stores and nothing seals is left out of the next input', async () => {
  const { id, upstream } = getModel('responses', 'thinking');
  harness.vendors.responses.script(upstream, { reasoning: 'Hm.', text: 'Two.' }, { text: 'Three.' });
  const client = await connect();
  const first = await client.create({ model: id, store: false, input: 'How many?' });
  expect(JSON.stringify(first)).toContain('"reasoning"');
  const second = await client.create({
    model: id,
    store: false,
    previous_response_id: getResponse(first).id,
    input: 'And now?',
  });
  expect([second.error, second.type]).toEqual([undefined, 'response.completed']);
  const { input } = readObject(JSON.parse(harness.vendors.responses.requests.at(-1)?.body.toString() ?? ''));
  expect(JSON.stringify(input)).toContain('Two.');
  expect(JSON.stringify(input)).not.toContain('"reasoning"');
});

describe('an error', () => {
  it.each([
    ['an unknown event', '{"type":"response.cancel"}', { code: null, param: 'type' }],
    ['no type', '{}', { param: 'type' }],
    ['text that is not JSON', '{', { message: expect.stringContaining('not valid JSON') }],
    ['a list', '[]', { message: expect.stringContaining('JSON object') }],
    ['a field twice', '{"type":"response.create","model":"a","model":"b"}', { param: 'model' }],
    ['a call that is not streamed', '{"type":"response.create","stream":false}', { param: 'stream' }],
    ['a background call', '{"type":"response.create","background":true}', { param: 'background' }],
    ['no boolean to generate', '{"type":"response.create","generate":1}', { param: 'generate' }],
    [
      'an endless lane',
      `{"type":"response.create","stream_id":"${'a'.repeat(200)}"}`,
      { param: 'stream_id' },
    ],
    ['input of a wrong type', '{"type":"response.create","input":3}', { param: 'input' }],
    ['no model', '{"type":"response.create","input":"Hello."}', { param: 'model' }],
    ['half a character', '{"type":"response.create","input":"\\ud83d"}', { param: 'input' }],
  ])('answers %s, names the field, and leaves the connection open', async (_, text, error) => {
    harness.vendors[wire].script(upstream, { text: 'Yes.' });
    const client = await connect();
    client.socket.send(text);
    const frame = await client.waitFor(isEnd);
    expect(frame).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', ...error },
    });
    expect(await client.create({ model, input: 'Hello.' })).toMatchObject({ type: 'response.completed' });
  });

  it('of a vendor has its status, the id of the call, and when to try again', async () => {
    const { id, upstream } = getModel('chat-completions');
    const body = JSON.stringify({
      error: { message: 'Slow down.', type: 'requests', code: 'rate_limit_exceeded' },
    });
    const headers = { 'retry-after': '7', 'content-type': 'application/json' };
    harness.vendors['chat-completions'].script(upstream, { reply: { status: 429, headers, body } });
    const client = await connect();
    const shown = { 'retry-after': '7', 'x-request-id': expect.stringMatching(/^[\w-]{36}$/) };
    expect(await client.create({ model: id, stream_id: 'a', input: 'Hello.' })).toMatchObject({
      type: 'error',
      status: 429,
      error: { code: 'rate_limit_exceeded', headers: shown },
      headers: shown,
      stream_id: 'a',
    });
  });

  it('of a stream that breaks off ends with a failed response, which cannot be continued', async () => {
    harness.vendors[wire].script(upstream, { text: ['one', 'two', 'three'], cut: { how: 'rst', events: 4 } });
    const client = await connect();
    client.send({ type: 'response.create', model, input: 'Hello.' });
    const failed = await client.waitFor(({ type }) => type === 'response.failed');
    expect(client.frames.map(({ type }) => type)).toContain('error');
    harness.vendors[wire].script(upstream, { text: 'Yes.' });
    client.send({
      type: 'response.create',
      model,
      previous_response_id: getResponse(failed).id,
      input: 'And?',
    });
    await client.waitFor(({ error }) => readObject(error).code === 'previous_response_not_found');
  });

  it('names a response that the connection does not know, and says what to send', async () => {
    const client = await connect();
    expect(await client.create({ model, previous_response_id: 'resp_other', input: 'And?' })).toMatchObject({
      type: 'error',
      status: 400,
      error: {
        code: 'previous_response_not_found',
        param: 'previous_response_id',
        message: expect.stringContaining('resp_other'),
      },
    });
  });

  it('says that a response cannot be steered, or is unknown', async () => {
    harness.vendors[wire].script(upstream, { text: 'Yes.' });
    const client = await connect();
    const { id } = getResponse(await client.create({ model, input: 'Hello.' }));
    for (const [target, code] of [
      [id, 'steering_not_supported'],
      ['resp_other', 'response_not_found'],
    ]) {
      client.send({ type: 'response.steer', previous_response_id: target, input: 'Faster.' });
      const { error, steer } = await client.waitFor(
        (frame) => readObject(frame.steer).previous_response_id === target,
      );
      expect([error, steer]).toMatchObject([
        { type: 'invalid_request_error', code },
        { previous_response_id: target, input: 'Faster.' },
      ]);
    }
  });
});
