/** Requests to the fake Google, good and bad, in parts. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startGenerateContentVendor, type GeminiRequest } from '../support/vendor/generate-content.ts';
import type { Stage } from '../support/vendor/stage.ts';

export const old = 'gemini-2.5-flash';
export const current = 'gemini-3-flash-preview';

export const buildPath = (model: string, method = 'generateContent'): string =>
  `/v1beta/models/${model}:${method}`;

export const turn = (role: string, ...parts: object[]) => ({ role, parts });
const user = turn('user', { text: 'Hello!' });
export const good = { contents: [user] };

/** Changes to a valid request, with the message of the 400, and the model if it is not the older one. */
export type Change = [change: object, message: RegExp, model?: string];

export let vendor: Stage<GeminiRequest>;
export let call: Caller;

/** Starts the fake for the tests of a file. */
export function useGoogle(): void {
  beforeAll(async () => {
    vendor = await startGenerateContentVendor();
    call = createCaller(vendor, buildPath(old), { 'x-goog-api-key': vendor.key });
  });
  afterEach(() => vendor.unscript());
  afterAll(() => vendor.close());
}

/** Checks that a change to a valid request is refused. */
export async function isRefused(_: string, [change, message, model = old]: Change): Promise<void> {
  const reply = await call({ ...good, ...change }, { path: buildPath(model) });
  expect({ status: reply.status, body: reply.json() }).toMatchObject({
    status: 400,
    body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } },
  });
}
