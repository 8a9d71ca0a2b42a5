/**
 * Errors about what one client named: that client receives the provider's message, and no other client is
 * affected.
 */
import { beforeAll, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const whole = chatReply('one', {}, [3, 4]);
let first: ScriptedVendor;
let second: ScriptedVendor;
let gateway: TestGateway;
beforeAll(async () => {
  [first, second] = await Promise.all([
    startScriptedVendor((response) => sendJson(response, whole)),
    startScriptedVendor((response) => sendJson(response, whole)),
  ]);
  const providers = [first, second].map(({ origin }, index) =>
    testProvider({ name: index === 0 ? 'first' : 'second', endpoints: { 'chat-completions': origin } }),
  );
  gateway = await startGateway({ plugins: [acceptAnyKey(), chatCompletions(), health(), ...providers] });
});

async function ask(): Promise<Response> {
  return postJson(`${gateway.url}/v1/chat/completions`, {
    model: 'house/model',
    messages: [{ role: 'user', content: 'x' }],
  });
}

function refuse(status: number, error: object, headers: Record<string, string> = {}): void {
  first.conduct((response) => sendJson(response, { error }, status, headers));
}

function succeed(): void {
  first.conduct((response) => sendJson(response, whole));
}

it.each([
  [403, 'You do not have permission to access the File abc or it may not exist.'],
  [404, "Item with id 'rs_1' not found."],
  [404, 'File not found'],
])(
  'an error about what a client named (%i, %s) reaches it, and leaves the provider healthy',
  async (status, message) => {
    const others = second.bodies.length;
    refuse(status, { message, type: 'invalid_request_error', param: null, code: null });
    for (let count = 0; count < 10; count += 1) {
      const response = await ask();
      expect([response.status, response.headers.get('x-should-retry'), await response.json()]).toMatchObject([
        status,
        'false',
        { error: { message } },
      ]);
    }
    succeed();
    expect((await ask()).headers.get('x-tollgate-provider')).toBe('first');
    expect(second.bodies).toHaveLength(others);
  },
);

it('an error about what a client named names the model as the client does', async () => {
  refuse(400, {
    message: 'upstream-model takes no pictures; upstream-model-2 does.',
    type: 'invalid_request_error',
    param: null,
    code: null,
  });
  expect(await (await ask()).json()).toMatchObject({
    error: { message: 'house/model takes no pictures; upstream-model-2 does.' },
  });
});
