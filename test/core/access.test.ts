/** Core checks the models that a key may call, for new calls and for stored replies. */
import { expect, it } from 'vitest';
import { checkReplay, filterPermitted } from '../../core/http/access.ts';
import type { Principal } from '../../core/index.ts';
import { target } from '../balance/targets.ts';

const buildPrincipal = (models?: readonly string[]): Principal => ({
  kind: 'user',
  account: 'a',
  key: 'key-1',
  models,
});

const targets = ['house/small', 'house/large', 'other/small'].map((id) =>
  target('house', { input: '1', output: '1' }, { id }),
);
const listPermitted = (models?: readonly string[]): string[] =>
  filterPermitted(targets, buildPrincipal(models)).map(({ model }) => model.id);

it('the check of models permits all models to a key without a list', () =>
  expect(listPermitted()).toEqual(['house/small', 'house/large', 'other/small']));
it('the check of models permits the listed models, and with a star all models of an owner', () => {
  expect(listPermitted(['house/large', 'unknown/x'])).toEqual(['house/large']);
  expect(listPermitted(['house/*'])).toEqual(['house/small', 'house/large']);
});
it('the check of models refuses a call if no target is permitted, and lists the permitted models', () => {
  expect(() => listPermitted(['house/larg'])).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: expect.stringContaining('it may call house/larg'),
    }),
  );
});

const buildReply = (headers: Record<string, string> = {}) => ({
  status: 200,
  headers,
  body: Buffer.from('{}'),
});
const forbidden = expect.objectContaining({ code: 'forbidden' });

it('the hook sends a stored reply to a key that may call the model that produced it', () => {
  expect(() =>
    checkReplay(
      buildReply({ 'x-tollgate-model': 'house/small' }),
      buildPrincipal(['house/small']),
      'house/large',
    ),
  ).not.toThrow();
  expect(() => checkReplay(buildReply(), buildPrincipal(['house/large']), 'house/large')).not.toThrow();
  expect(() => checkReplay(buildReply(), buildPrincipal(), 'house/large')).not.toThrow();
});

it('the hook refuses a stored reply to any other key, whatever model it asks for', () => {
  expect(() =>
    checkReplay(
      buildReply({ 'x-tollgate-model': 'house/small' }),
      buildPrincipal(['house/large']),
      'house/large',
    ),
  ).toThrow(forbidden);
  expect(() => checkReplay(buildReply(), buildPrincipal(['house/small']), 'house/large')).toThrow(forbidden);
});
