/** Requests to the fake Anthropic, good and bad, in parts. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startMessagesVendor, type MessagesRequest } from '../support/vendor/messages.ts';
import type { Stage } from '../support/vendor/stage.ts';

export const model = 'claude-sonnet-4-5';
export const user = { role: 'user', content: 'Hello!' };
export const good = { model, max_tokens: 100, messages: [user] };

/** Changes to a valid request, with the message of the 400. */
export type Change = [change: object, message: string | RegExp];

export let vendor: Stage<MessagesRequest>;
export let call: Caller;

/** Starts the fake for the tests of a file. */
export function useAnthropic(): void {
  beforeAll(async () => {
    vendor = await startMessagesVendor({ models: { 'claude-ahead': { fields: ['new_field'] } } });
    call = createCaller(vendor, '/v1/messages', {
      'x-api-key': vendor.key,
      'anthropic-version': '2023-06-01',
    });
  });
  afterEach(() => vendor.unscript());
  afterAll(() => vendor.close());
}

/** Checks that a change to a valid request is refused. */
export async function isRefused(_: string, [change, message]: Change): Promise<void> {
  const reply = await call({ ...good, ...change });
  const shown = typeof message === 'string' ? message : expect.stringMatching(message);
  expect({ status: reply.status, body: reply.json() }).toEqual({
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: shown },
      request_id: expect.stringMatching(/^req_/),
    },
  });
}
