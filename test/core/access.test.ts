/** Core checks the models that a key may call, for new calls and for stored replies alike. */
import { describe, expect, it } from 'vitest';
import { checkReplay, permitted } from '../../core/http/access.ts';
import type { Principal } from '../../core/index.ts';
import { target } from '../balance/targets.ts';

const principal = (models?: readonly string[]): Principal => ({
  kind: 'user',
  account: 'a',
  key: 'key-1',
  models,
});

describe('the models a key may call', () => {
  const targets = ['house/small', 'house/large', 'other/small'].map((id) =>
    target('house', { input: '1', output: '1' }, { id }),
  );
  const allowed = (models?: readonly string[]): string[] =>
    permitted(targets, principal(models)).map(({ model }) => model.id);

  it('are all where nothing is said', () =>
    expect(allowed()).toEqual(['house/small', 'house/large', 'other/small']));
  it('are those named, and with a star all of an owner', () => {
    expect(allowed(['house/large', 'nobody/x'])).toEqual(['house/large']);
    expect(allowed(['house/*'])).toEqual(['house/small', 'house/large']);
  });
  it('refuse the call where none is left, saying which there are', () => {
    expect(() => allowed(['house/larg'])).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        message: expect.stringContaining('it may call house/larg'),
      }),
    );
  });
});

describe('a stored reply', () => {
  const reply = (headers: Record<string, string> = {}) => ({ status: 200, headers, body: Buffer.from('{}') });
  const forbidden = expect.objectContaining({ code: 'forbidden' });

  it('goes to a key that may call the model that gave it', () => {
    expect(() =>
      checkReplay(reply({ 'x-tollgate-model': 'house/small' }), principal(['house/small']), 'house/large'),
    ).not.toThrow();
    expect(() => checkReplay(reply(), principal(['house/large']), 'house/large')).not.toThrow();
    expect(() => checkReplay(reply(), principal(), 'house/large')).not.toThrow();
  });

  it('goes to no other key, whatever model it asks for', () => {
    expect(() =>
      checkReplay(reply({ 'x-tollgate-model': 'house/small' }), principal(['house/large']), 'house/large'),
    ).toThrow(forbidden);
    expect(() => checkReplay(reply(), principal(['house/small']), 'house/large')).toThrow(forbidden);
  });
});
