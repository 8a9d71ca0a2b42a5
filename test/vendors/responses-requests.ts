/** Requests to the fake OpenAI, good and bad, in parts. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startResponsesVendor, type ResponsesRequest } from '../support/vendor/responses.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'gpt-4o';
const user = { role: 'user', content: 'Hello!' };
export const good = { model, input: [user] };

export let vendor: Stage<ResponsesRequest>;
export let call: Caller;

/** Starts the fake for the tests of a file. */
export function useOpenai(): void {
  beforeAll(async () => {
    vendor = await startResponsesVendor(['gAAAAAgiven']);
    call = createCaller(vendor, '/v1/responses', { authorization: `Bearer ${vendor.key}` });
  });
  afterEach(() => vendor.unscript());
  afterAll(() => vendor.close());
}
