import { describe, expect, it } from 'vitest';
import { buildBlock } from '../support/events.ts';
import { makeCall } from './bodies.ts';
import { block, callTool, end, getLastResponse, start, writeEvents, listTypes } from './client-events.ts';

describe('output items', () => {
  it('starts a new message when text follows another item', () => {
    const events = writeEvents([
      start,
      ...block(0, 'text', 'a'),
      ...block(1, 'text', 'b'),
      ...callTool(2, ['{}']),
      ...block(3, 'text', 'c'),
      ...end,
    ]);
    expect(getLastResponse(events).output).toMatchObject([
      { id: 'msg_0199ab0000', content: [{ text: 'a' }, { text: 'b' }] },
      {
        id: 'fc_0199ab0001',
        type: 'function_call',
        call_id: 'call_2',
        name: 'f',
        arguments: '{}',
        status: 'completed',
      },
      { id: 'msg_0199ab0002', content: [{ text: 'c' }] },
    ]);
    const done = events.flatMap((event) =>
      event.type === 'response.output_item.done' ? [event.output_index] : [],
    );
    expect(done).toEqual([0, 1, 2]);
  });

  it('streams arguments, and repeats them whole at the end', () => {
    const events = writeEvents([start, ...callTool(0, ['{"a"', ':', '1}']), ...end]).slice(2, -1);
    expect(listTypes(events)).toEqual([
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
    ]);
    expect(events[0]).toMatchObject({ item: { arguments: '', status: 'in_progress' } });
    expect(events[1]).toMatchObject({ item_id: 'fc_0199ab0000', output_index: 0, delta: '{"a":' });
    expect(events[2]).toMatchObject({ delta: '1}' });
    expect(events[3]).toMatchObject({ arguments: '{"a":1}' });
  });

  it('writes the call of a custom tool as a custom_tool_call item', () => {
    const events = writeEvents([start, ...callTool(0, ['free', ' ', 'text'], { custom: true }), ...end]);
    expect(listTypes(events).slice(2, -1)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
    expect(getLastResponse(events).output).toMatchObject([
      { id: 'ctc_0199ab0000', type: 'custom_tool_call', input: 'free text' },
    ]);
  });

  it('gives an id to a call that has none', () => {
    expect(
      getLastResponse(writeEvents([start, ...callTool(0, ['{}'], { id: '' }), ...end])).output,
    ).toMatchObject([{ call_id: 'call_0199ab0000' }]);
  });

  it('writes the namespace of a tool into its call', () => {
    const tools = [{ type: 'namespace', name: 'charts', tools: [{ type: 'function', name: 'f' }] }];
    expect(
      getLastResponse(writeEvents([start, ...callTool(0, ['{}']), ...end], { tools })).output,
    ).toMatchObject([{ name: 'f', namespace: 'charts' }]);
  });

  it('streams reasoning as a summary, with the sealed state at the end', () => {
    const events = writeEvents([
      start,
      ...buildBlock(0, 'reasoning', ['Hm', '.'], {}, [
        { vendor: 'openai', kind: 'encrypted', value: 'gAAA' },
      ]),
      ...end,
    ]);
    expect(listTypes(events).slice(2, -1)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ]);
    expect(events[2]).toMatchObject({ item: { id: 'rs_0199ab0000', type: 'reasoning', summary: [] } });
    expect(getLastResponse(events).output).toEqual([
      {
        id: 'rs_0199ab0000',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'gAAA',
      },
    ]);
  });

  it('writes no item for reasoning without text and sealed state', () => {
    expect(getLastResponse(writeEvents([start, ...block(0, 'reasoning'), ...end])).output).toEqual([]);
  });

  it("puts other vendors' sealed state into envelopes, right before its call or right after its text", () => {
    const signature = [{ vendor: 'google', kind: 'signature', value: 'c2ln' }];
    const events = writeEvents([
      start,
      ...buildBlock(0, 'text', ['a'], {}, signature),
      ...callTool(1, ['{}'], {}, signature),
      ...end,
    ]);
    const { output } = getLastResponse(events);
    expect(output).toMatchObject([
      { type: 'message' },
      { type: 'reasoning', summary: [] },
      { type: 'reasoning', summary: [] },
      { type: 'function_call' },
    ]);
    const sent = makeCall({
      input: [{ role: 'user', content: 'x' }, ...(Array.isArray(output) ? output : [])],
    });
    expect(sent.carriesState).toBe(true);
    expect(sent.decode().turns[1]?.blocks).toMatchObject([
      { type: 'text', text: 'a', opaque: signature },
      { type: 'tool-call', id: 'call_1', opaque: signature },
    ]);
  });

  it('writes a refusal as a part of its own', () => {
    const events = writeEvents([start, ...block(0, 'refusal', 'No', '.'), ...end]);
    expect(listTypes(events).slice(3, -2)).toEqual([
      'content_part.added',
      'refusal.delta',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
    ]);
    expect(getLastResponse(events)).toMatchObject({
      status: 'completed',
      output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }],
    });
  });

  it("writes other vendors' images, code and searches as items of this protocol", () => {
    const events = writeEvents([
      start,
      ...buildBlock(0, 'image', ['UklG'], { mediaType: 'image/webp' }),
      ...buildBlock(1, 'code', ['print(1)']),
      ...buildBlock(2, 'server-tool', ['{"query":"tides"}'], { name: 'web_search', id: 'srvtoolu_1' }),
      ...buildBlock(3, 'audio', []),
      ...end,
    ]);
    expect(getLastResponse(events).output).toMatchObject([
      {
        id: 'ig_0199ab0000',
        type: 'image_generation_call',
        status: 'completed',
        output_format: 'webp',
        result: 'UklG',
      },
      { id: 'ci_0199ab0001', type: 'code_interpreter_call', code: 'print(1)' },
      { id: 'ws_0199ab0002', type: 'web_search_call', action: { type: 'search', query: 'tides' } },
    ]);
    expect(listTypes(events)).toContain('web_search_call.searching');
    expect(events.find(({ type }) => type === 'response.output_item.added')).toMatchObject({
      item: { status: 'in_progress', result: null },
    });
  });

  it('puts citations and log probabilities on their part', () => {
    const place = { candidate: 0, block: 0 };
    const events = writeEvents([
      start,
      { type: 'block-start', ...place, kind: 'text' },
      { type: 'logprobs', ...place, content: [{ token: 'a', logprob: -1 }] },
      { type: 'block-delta', ...place, text: 'a' },
      { type: 'block-delta', ...place, text: 'b' },
      { type: 'block-end', ...place },
      { type: 'annotation', ...place, annotation: { kind: 'url', url: 'https://a.example', title: 'A' } },
      ...end,
    ]);
    expect(events.find(({ type }) => type === 'response.output_text.delta')).toMatchObject({
      delta: 'a',
      logprobs: [{ token: 'a' }],
    });
    const citation = {
      type: 'url_citation',
      url: 'https://a.example',
      title: 'A',
      start_index: 0,
      end_index: 2,
    };
    expect(events.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      content_index: 0,
      annotation_index: 0,
      annotation: citation,
    });
    expect(getLastResponse(events).output).toMatchObject([
      { content: [{ annotations: [citation], logprobs: [{ token: 'a' }] }] },
    ]);
  });

  it('reports other candidates than the first as lost, and writes no event for a ping', () => {
    expect(
      listTypes(
        writeEvents([
          start,
          { type: 'ping' },
          { type: 'block-start', candidate: 1, block: 0, kind: 'text' },
          { type: 'block-delta', candidate: 1, block: 0, text: 'x' },
          ...end,
        ]),
      ),
    ).toEqual(['created', 'in_progress', 'completed']);
  });
});
