import { describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { generateContentRefusals } from '../support/vendor/generate-content.ts';
import {
  old,
  buildPath,
  turn,
  good,
  type Change,
  vendor,
  call,
  useGoogle,
  isRefused,
} from './generate-content-requests.ts';
useGoogle();

const wrong: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('generate-content-refusals.json', import.meta.url),
  'no contents': [{ contents: undefined }, /contents is not specified/],
  'more than the model holds': [
    { contents: [turn('user', { text: 'a '.repeat(1_048_577) })] },
    /exceeds the maximum number of tokens allowed \(1048576\)/,
  ],
};

describe('the fake Google, asked something wrong', () => {
  it.each(Object.entries(wrong))('refuses it as the real one does: %s', isRefused);

  it('names the path of each wrong field', async () => {
    const reply = await call({ ...good, a: 1, generationConfig: { b: 2 } });
    const fieldViolations = [
      { description: expect.stringContaining('"a"') },
      { field: 'generation_config', description: expect.stringContaining('"b"') },
    ];
    expect(reply.json()).toMatchObject({
      error: { details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }] },
    });
  });

  it('refuses a model that it does not have, and an unknown method', async () => {
    const reply = await call(good, { path: buildPath('gemini-9') });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 404,
      body: {
        error: {
          code: 404,
          status: 'NOT_FOUND',
          message: expect.stringContaining('models/gemini-9 is not found'),
        },
      },
    });
    expect(await call(good, { path: buildPath(old, 'generate') })).toMatchObject({ status: 404 });
  });

  it('refuses an unknown key with a 400, as Google does', async () => {
    const reply = await call(good, { headers: { 'x-goog-api-key': 'other' } });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 400,
      body: { error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }, {}] } },
    });
    expect(await call(good, { headers: { 'x-goog-api-key': '' } })).toMatchObject({ status: 403 });
    expect(
      await call(good, { headers: { 'x-goog-api-key': '', authorization: 'Bearer other' } }),
    ).toMatchObject({ status: 401 });
  });

  it.each(Object.entries(generateContentRefusals))(
    'refuses with the scripted reply: %s',
    async (_, reply) => {
      vendor.script(old, { reply });
      const { status, json } = await call(good);
      expect({ status, body: json() }).toEqual({ status: reply.status, body: reply.body });
    },
  );
});
