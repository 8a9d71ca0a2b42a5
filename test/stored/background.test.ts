/** Responses in the background: polled, cancelled, charged once, and failed if they were cut. */
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires, type Wire } from '../support/four-wires.ts';
import type { Scenario } from '../support/vendor/index.ts';

let harness: FourWires;
let openai: OpenAI;
beforeAll(async () => {
  harness = await openFourWires({ store: { for: '1h' } });
  openai = new OpenAI({ apiKey: harness.key, baseURL: `${harness.gateway.url}/v1`, maxRetries: 0 });
});

type Response = OpenAI.Responses.Response;

async function waitFor(id: string, ...states: readonly unknown[]): Promise<Response> {
  await expect
    .poll(async () => (await openai.responses.retrieve(id)).status)
    .toSatisfy((status: unknown) => states.includes(status));
  return openai.responses.retrieve(id);
}

function script(wire: Wire, first: Scenario, ...others: Scenario[]): string {
  const { id, upstream } = getModel(wire, 'thinking');
  harness.vendors[wire].script(upstream, first, ...others);
  return id;
}

it.each(wires)('a response in the background is polled until it is complete, on %s', async (wire) => {
  const model = script(wire, { text: ['Calm.'] }, { text: ['Still calm.'] });
  const before = harness.gateway.ends.length;
  const queued = await openai.responses.create({ model, input: 'The sea?', background: true });
  expect(queued).toMatchObject({ status: 'queued', background: true, output: [] });
  const done = await waitFor(queued.id, 'completed');
  expect([done.id, done.output_text, done.background]).toEqual([queued.id, 'Calm.', true]);
  expect(done.usage?.output_tokens).toBeGreaterThan(0);
  const ends = (await harness.gateway.ended(before + 2)).slice(before);
  expect(ends.map(({ type }) => type).toSorted()).toEqual(['answered', 'replayed']);
  const paid = ends.find((end) => end.type === 'answered');
  expect(paid?.type === 'answered' && [paid.outcome, paid.charge.basis]).toEqual(['completed', 'usage']);
  const next = await openai.responses.create({ model, input: 'And now?', previous_response_id: queued.id });
  expect(next.output_text).toBe('Still calm.');
  expect(harness.vendors[wire].requests.at(-1)?.body.toString()).toContain('Calm.');
});

it('a response that is cancelled closes the connection to its vendor, and stays cancelled', async () => {
  const model = script('responses', { text: ['Never.'], hold: 'forever' });
  const { id } = await openai.responses.create({ model, input: 'The sea?', background: true });
  await waitFor(id, 'in_progress');
  const before = harness.gateway.ends.length;
  expect((await openai.responses.cancel(id)).status).toBe('cancelled');
  const [end] = (await harness.gateway.ended(before + 1)).slice(before);
  expect(end?.type).not.toBe('answered');
  expect((await openai.responses.retrieve(id)).status).toBe('cancelled');
  expect((await openai.responses.cancel(id)).status).toBe('cancelled');
  await expect(
    openai.responses.create({ model, input: 'And?', previous_response_id: id }),
  ).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
});

it('a response whose vendor fails has failed, and says why', async () => {
  const model = script('responses', {
    reply: { status: 400, body: { error: { message: 'No sea.', type: 'invalid_request_error' } } },
  });
  const { id } = await openai.responses.create({ model, input: 'The sea?', background: true });
  const failed = await waitFor(id, 'failed');
  expect(failed.error?.message).toContain('No sea.');
});

it('a background response that is not to be kept is refused', async () => {
  const model = script('responses', { text: ['Calm.'] });
  const body = { model, input: 'Ahoy', background: true, store: false };
  await expect(openai.responses.create(body)).rejects.toMatchObject({ status: 400, param: 'store' });
});

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;

function getResponse(event: StreamEvent | undefined): Response | undefined {
  return event && 'response' in event ? event.response : undefined;
}

it.each(wires)('a response in the background is streamed, and again from any event, on %s', async (wire) => {
  const model = script(wire, { text: ['Calm', ' sea.'] });
  const request = { model, input: 'The sea?', background: true, stream: true } as const;
  const events: StreamEvent[] = await Array.fromAsync(await openai.responses.create(request));
  const id = getResponse(events[0])?.id ?? '';
  const last = getResponse(events.at(-1));
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(['response.created', 'response.completed']);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  expect([last?.id, last?.background, last?.status]).toEqual([id, true, 'completed']);
  const kept = await openai.responses.retrieve(id);
  expect([kept.output, kept.output_text, kept.usage]).toEqual([last?.output, 'Calm sea.', last?.usage]);
  const again = await Array.fromAsync(await openai.responses.retrieve(id, { stream: true }));
  expect(again).toEqual(events);
  const after = { stream: true, starting_after: 2 } as const;
  expect(await Array.fromAsync(await openai.responses.retrieve(id, after))).toEqual(events.slice(3));
});

it('a response goes on when the client of its stream leaves, and can be followed again', async () => {
  const model = script('responses', { text: ['Calm.'], hold: 'forever', holdAfter: 3 });
  const request = { model, input: 'The sea?', background: true, stream: true } as const;
  const left = await openai.responses.create(request);
  let id = '';
  for await (const event of left) {
    id = getResponse(event)?.id ?? '';
    break;
  }
  const followed = await openai.responses.retrieve(id, { stream: true });
  const seen: string[] = [];
  for await (const event of followed) {
    seen.push(event.type);
    if (seen.length === 1) expect((await openai.responses.cancel(id)).status).toBe('cancelled');
  }
  expect([seen[0], seen.at(-1)]).toEqual(['response.created', 'response.cancelled']);
});

it('a stream of a response whose vendor fails ends with why', async () => {
  const model = script('responses', {
    reply: { status: 400, body: { error: { message: 'No sea.', type: 'invalid_request_error' } } },
  });
  const request = { model, input: 'The sea?', background: true, stream: true } as const;
  const events = await Array.fromAsync(await openai.responses.create(request));
  expect(events.map(({ type }) => type)).toEqual(['response.failed']);
  expect(getResponse(events[0])?.error?.message).toContain('No sea.');
});

it('the events of a response that was not streamed, and a place that is no number, are refused', async () => {
  const model = script('responses', { text: ['Calm.'] });
  const { id } = await openai.responses.create({ model, input: 'The sea?', background: true });
  await waitFor(id, 'completed');
  const refused = { status: 400, param: 'stream', message: expect.stringContaining('poll') };
  await expect(openai.responses.retrieve(id, { stream: true })).rejects.toMatchObject(refused);
  const query = { stream: 'true', starting_after: '-1' };
  await expect(openai.get(`/responses/${id}`, { query })).rejects.toMatchObject({
    status: 400,
    param: 'starting_after',
  });
});

it('the same Idempotency-Key starts one response', async () => {
  const model = script('responses', { text: ['Calm.'] });
  const before = harness.gateway.ends.length;
  const options = { headers: { 'idempotency-key': 'once-1' } };
  const body = { model, input: 'The sea?', background: true } as const;
  const first = await openai.responses.create(body, options);
  const again = await openai.responses.create(body, options);
  expect(again.id).toBe(first.id);
  await waitFor(first.id, 'completed');
  const ends = (await harness.gateway.ended(before + 3)).slice(before);
  expect(ends.filter(({ type }) => type === 'answered')).toHaveLength(1);
});

it('a response that was answered at once cannot be cancelled', async () => {
  const model = script('responses', { text: ['Calm.'] });
  const { id } = await openai.responses.create({ model, input: 'The sea?' });
  await expect(openai.responses.cancel(id)).rejects.toMatchObject({ status: 400 });
});
