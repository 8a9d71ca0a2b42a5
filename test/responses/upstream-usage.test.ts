import { describe, expect, it } from 'vitest';
import { complete, created, read } from './upstream-events.ts';

const readUsage = (response: object) => read(created, complete(response)).usage;

describe('the end of a stream', () => {
  it('takes usage from the last response, and reads a total above the sum as uncounted reasoning', () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 18,
    };
    expect(readUsage({ usage, tool_usage: { web_search: { num_requests: 2 } } })).toEqual({
      input: 10,
      cacheRead: 4,
      cacheWrite5m: 2,
      output: 8,
      reasoning: 3,
      webSearches: 2,
    });
  });

  it.each([
    [10, { ttl_30m_tokens: 6, ttl_12h_tokens: 4 }, { cacheWrite30m: 6, cacheWrite12h: 4 }],
    [10, { ttl_30m_tokens: 0, ttl_12h_tokens: 4 }, { cacheWrite5m: 6, cacheWrite30m: 0, cacheWrite12h: 4 }],
    [10, { ttl_12h_tokens: 'many' }, { cacheWrite5m: 10, cacheWrite30m: 0, cacheWrite12h: 0 }],
    [10, null, { cacheWrite5m: 10 }],
  ])('counts %i cache writes by their retention: %j', (written, parts, counted) => {
    const details = { cache_write_tokens: written, cache_write_tokens_details: parts };
    expect(readUsage({ usage: { input_tokens: 20, input_tokens_details: details } })).toEqual({
      input: 20,
      ...counted,
    });
  });

  it("counts xAI's searches from its usage", () => {
    const usage = {
      input_tokens: 5467,
      output_tokens: 593,
      total_tokens: 6060,
      num_server_side_tools_used: 1,
      server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 2 },
    };
    expect(readUsage({ usage })).toEqual({ input: 5467, output: 593, webSearches: 3 });
  });

  it("adds the image tool's usage to the model's, which does not include it", () => {
    const tool_usage = {
      image_gen: {
        input_tokens: 30,
        input_tokens_details: { image_tokens: 20, text_tokens: 10 },
        output_tokens: 196,
        output_tokens_details: { image_tokens: 196, text_tokens: 0 },
        total_tokens: 226,
      },
      web_search: { num_requests: 0 },
    };
    const usage = {
      input_tokens: 1633,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 43,
      total_tokens: 1676,
    };
    expect(readUsage({ usage, tool_usage, output: [] })).toEqual({
      input: 1663,
      cacheRead: 5,
      inputImage: 20,
      output: 239,
      outputImage: 196,
      webSearches: 0,
    });
    const none = {
      image_gen: {
        input_tokens: 0,
        input_tokens_details: { image_tokens: 0, text_tokens: 0 },
        output_tokens: 0,
        total_tokens: 0,
      },
    };
    expect(readUsage({ usage, tool_usage: none, output: [] })).toEqual({
      input: 1633,
      cacheRead: 5,
      output: 43,
    });
  });

  it('counts file searches per call, and containers that ran commands', () => {
    const output = [
      { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['one', 'two'], results: null },
      { type: 'file_search_call', id: 'fs_2', status: 'completed', queries: ['three'], results: null },
      {
        type: 'shell_call',
        id: 'sh_1',
        call_id: 'c1',
        status: 'completed',
        action: { commands: ['ls'] },
        environment: { type: 'container_reference', container_id: 'cntr_new' },
      },
      {
        type: 'shell_call',
        id: 'sh_2',
        call_id: 'c2',
        status: 'completed',
        action: { commands: ['ls'] },
        environment: { type: 'container_reference', container_id: 'cntr_kept' },
      },
    ];
    const tools = [
      { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_kept' } },
    ];
    expect(
      readUsage({ usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 }, output, tools }),
    ).toEqual({ input: 10, output: 5, fileSearches: 2, containers: 1 });
  });

  it('counts containers that ran code, except one that the request named', () => {
    const runCode = (container: string | null): object => ({
      type: 'code_interpreter_call',
      id: `ci_${container}`,
      status: 'completed',
      code: '1',
      container_id: container,
      outputs: [],
    });
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const output = [
      runCode('cntr_1'),
      runCode('cntr_1'),
      runCode('cntr_2'),
      runCode('cntr_kept'),
      runCode(null),
    ];
    const tools = [{ type: 'code_interpreter', container: 'cntr_kept' }];
    expect(readUsage({ usage, output, tools })).toEqual({
      input: 10,
      output: 5,
      containers: 2,
    });
  });

  it('counts searches by their items if there is no sum, and does not count opened pages', () => {
    const call = (type: string): object => ({
      type: 'web_search_call',
      id: `ws_${type}`,
      status: 'completed',
      action: { type, query: 'new' },
    });
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const output = [
      call('search'),
      call('open_page'),
      call('search'),
      { type: 'web_search_call', id: 'ws_old', status: 'completed' },
    ];
    expect(readUsage({ usage, output })).toEqual({
      input: 10,
      output: 5,
      webSearches: 3,
    });
    expect(readUsage({ usage, output, tool_usage: { web_search: { num_requests: 2 } } })).toEqual({
      input: 10,
      output: 5,
      webSearches: 2,
    });
  });
});
