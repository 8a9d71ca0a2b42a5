/** Errors of a protocol, whole and in streams. */
import { expect, it } from 'vitest';
import {
  errorTable,
  GatewayError,
  type ClientCall,
  type ErrorCode,
  type Protocol,
} from '../../core/index.ts';
import { decodeAll, fold, readStream } from './replies.ts';

const codes = Object.keys(errorTable).filter((code): code is ErrorCode => code in errorTable);

/** Errors before a reply begins, of the gateway and of the vendor. */
export function testRefusals({ client, upstream }: Pick<Protocol, 'client' | 'upstream'>): void {
  it.each(codes)('reports %s with its status and message', (code) => {
    const error = new GatewayError(code, 'What went "wrong" – here.', { param: 'model' });
    const { status, body } = client.encodeError(error, 'exchange-1');
    expect(status).toBeGreaterThanOrEqual(400);
    // A protocol may add text of its own around it, by which its clients recognise the error.
    expect(JSON.stringify(body)).toContain(JSON.stringify(error.message).slice(1, -1));
  });

  it.each([
    [400, 'invalid_request'],
    [401, 'upstream_failed'],
    [402, 'upstream_failed'],
    [403, 'upstream_failed'],
    [404, 'model_not_found'],
    [408, 'timeout'],
    [413, 'body_too_large'],
    [429, 'rate_limited'],
    [500, 'upstream_failed'],
    [502, 'upstream_failed'],
    [503, 'upstream_overloaded'],
    [504, 'timeout'],
    [529, 'upstream_overloaded'],
  ])('understands a vendor that answers %i', (status, code) => {
    for (const text of [
      '{"error":{"message":"Something about acme-org"}}',
      '{"error":"acme-org"}',
      '<html>acme-org</html>',
      '',
      '[]',
      'null',
      `"${'x'.repeat(100_000)}"`,
    ]) {
      const error = upstream.decodeError(status, text);
      expect(error.code, text.slice(0, 40)).toBe(code);
      expect(error.message.length).toBeLessThan(2000);
      if (status !== 400) expect(error.message).not.toContain('acme-org');
    }
  });
}

export function testErrors(protocol: Protocol, call: ClientCall): void {
  const { client, upstream } = protocol;
  testRefusals(protocol);

  it.each(codes)('reports %s with its message in a stream', (code) => {
    const error = new GatewayError(code, 'What went "wrong" – here.', { param: 'model' });
    expect(client.encodeStreamError(error, call, true)).toContain(JSON.stringify(error.message).slice(1, -1));
  });

  it('ends a stream with an error in a way its own reader takes for one', () => {
    const frames = client.encodeStreamError(
      new GatewayError('upstream_failed', 'The provider broke off.'),
      call,
      true,
    );
    const { complete, error } = fold(decodeAll(upstream.decodeEvents(call), readStream(Buffer.from(frames))));
    expect([complete, error]).toEqual([false, 'The provider broke off.']);
  });
}
