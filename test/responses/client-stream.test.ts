import { describe, expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { buildBlock } from '../support/events.ts';
import { type Fields, block, end, getLastResponse, start, writeEvents, listTypes } from './client-events.ts';

describe('the stream of a text reply', () => {
  const events = writeEvents([start, ...block(0, 'text', 'Aho', 'y'), ...end]);

  it('has all events that OpenAI sends, in order and numbered from zero', () => {
    expect(listTypes(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it('names the item and the part in every event', () => {
    const place = { item_id: 'msg_0199ab0000', output_index: 0, content_index: 0 };
    expect(events[2]).toMatchObject({
      output_index: 0,
      item: { id: 'msg_0199ab0000', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    });
    expect(events[3]).toMatchObject({
      ...place,
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    });
    expect(events[4]).toMatchObject({ ...place, delta: 'Aho', logprobs: [] });
    expect(events[6]).toMatchObject({ ...place, text: 'Ahoy', logprobs: [] });
    expect(events[7]).toMatchObject({ ...place, part: { type: 'output_text', text: 'Ahoy' } });
    expect(events[8]).toMatchObject({
      output_index: 0,
      item: { id: 'msg_0199ab0000', status: 'completed', content: [{ text: 'Ahoy' }] },
    });
  });

  it("ends with the whole response, with the gateway's model name and id", () => {
    expect(getLastResponse(events)).toMatchObject({
      id: 'resp_0199ab',
      object: 'response',
      created_at: 1_790_000_000,
      model: 'openai/gpt-5.5',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output: [{ type: 'message', content: [{ text: 'Ahoy' }] }],
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 12,
      },
    });
    expect(events[0]).toMatchObject({
      response: { id: 'resp_0199ab', status: 'in_progress', output: [], usage: null },
    });
  });

  it('reports zero usage if the provider reported none, because clients reject a response without it', () => {
    expect(getLastResponse(writeEvents([start, { type: 'response-end' }]))).toMatchObject({
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
  });
});

describe('an image with partial previews', () => {
  const painted: CanonicalEvent = {
    type: 'partial-image',
    candidate: 0,
    index: 0,
    data: 'UklG',
    vendor: { responses: { item_id: 'ig_1', output_format: 'webp' } },
  };
  const item = { id: 'ig_1', type: 'image_generation_call', status: 'completed', output_format: 'webp' };
  const facts = { mediaType: 'image/webp', vendor: { responses: { item } } };
  const done = buildBlock(0, 'image', ['UklGRg=='], facts);

  it('is streamed inside its item, which ends with the finished image', () => {
    const events = writeEvents([start, painted, { ...painted, index: 1 }, ...done, ...end]);
    const steps = ['in_progress', 'generating', 'partial_image', 'partial_image', 'completed'].map(
      (step) => `image_generation_call.${step}`,
    );
    expect(listTypes(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      ...steps,
      'output_item.done',
      'completed',
    ]);
    expect(events[2]).toMatchObject({
      output_index: 0,
      item: { id: 'ig_1', status: 'in_progress', result: null },
    });
    expect(events[6]).toMatchObject({
      item_id: 'ig_1',
      output_index: 0,
      partial_image_index: 1,
      partial_image_b64: 'UklG',
      output_format: 'webp',
    });
    expect(getLastResponse(events).output).toEqual([{ ...item, result: 'UklGRg==' }]);
  });

  it('is marked as failed if it was never finished', () => {
    expect(
      getLastResponse(writeEvents([start, painted, ...block(0, 'text', 'Alas.'), ...end])).output,
    ).toMatchObject([{ id: 'ig_1', status: 'failed', result: null }, { type: 'message' }]);
  });
});

it('repeats at the end what the provider reports at the end only, such as the service tier', () => {
  const bag = (fields: Fields): { vendor: { responses: Fields } } => ({ vendor: { responses: fields } });
  const events = writeEvents([
    { ...start, ...bag({ service_tier: 'auto' }) },
    ...block(0, 'text', 'Ahoy'),
    {
      type: 'finish',
      candidate: 0,
      reason: { unified: 'stop', raw: 'completed' },
      ...bag({ service_tier: 'default' }),
    },
    { type: 'response-end' },
  ]);
  expect([events[0], events.at(-1)]).toMatchObject([
    { response: { service_tier: 'auto' } },
    { response: { service_tier: 'default' } },
  ]);
});

it('cites the whole text if the citation comes before it', () => {
  const annotation: CanonicalEvent = {
    type: 'annotation',
    candidate: 0,
    block: 0,
    annotation: { kind: 'url', url: 'https://a.example', title: 'A' },
  };
  const events = writeEvents([start, ...block(0, 'text', 'Aho', 'y').toSpliced(1, 0, annotation), ...end]);
  expect(listTypes(events).slice(4, 8)).toEqual([
    'output_text.delta',
    'output_text.delta',
    'output_text.annotation.added',
    'output_text.done',
  ]);
  expect(events[6]).toMatchObject({ annotation: { start_index: 0, end_index: 4 } });
});
