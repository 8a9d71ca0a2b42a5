/** Core checks the models that a key may call, for new calls and for stored replies. */
import { describe, expect, it } from 'vitest';
import { checkReplay, filterPermitted } from '../../core/http/access.ts';
import type { Principal } from '../../core/index.ts';
import { target } from '../balance/targets.ts';

const principal = (models?: readonly string[]): Principal => ({
  kind: 'user',
  account: 'a',
  key: 'key-1',
  models,
});

describe('permitted models', () => {
  const targets = ['house/small', 'house/large', 'other/small'].map((id) =>
    target('house', { input: '1', output: '1' }, { id }),
  );
  const allowed = (models?: readonly string[]): string[] =>
    filterPermitted(targets, principal(models)).map(({ model }) => model.id);

  it('permits all models to a key without a list', () =>
    expect(allowed()).toEqual(['house/small', 'house/large', 'other/small']));
  it('permits the listed models, and with a star all models of an owner', () => {
    expect(allowed(['house/large', 'nobody/x'])).toEqual(['house/large']);
    expect(allowed(['house/*'])).toEqual(['house/small', 'house/large']);
  });
  it('refuses a call if no target is permitted, and lists the permitted models', () => {
    expect(() => allowed(['house/larg'])).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        message: expect.stringContaining('it may call house/larg'),
      }),
    );
  });
});

describe('stored replies', () => {
  const reply = (headers: Record<string, string> = {}) => ({ status: 200, headers, body: Buffer.from('{}') });
  const forbidden = expect.objectContaining({ code: 'forbidden' });

  it('sends a stored reply to a key that may call the model that produced it', () => {
    expect(() =>
      checkReplay(reply({ 'x-tollgate-model': 'house/small' }), principal(['house/small']), 'house/large'),
    ).not.toThrow();
    expect(() => checkReplay(reply(), principal(['house/large']), 'house/large')).not.toThrow();
    expect(() => checkReplay(reply(), principal(), 'house/large')).not.toThrow();
  });

  it('refuses a stored reply to any other key, whatever model it asks for', () => {
    expect(() =>
      checkReplay(reply({ 'x-tollgate-model': 'house/small' }), principal(['house/large']), 'house/large'),
    ).toThrow(forbidden);
    expect(() => checkReplay(reply(), principal(['house/small']), 'house/large')).toThrow(forbidden);
  });
});
