import fc from 'fast-check';
import { expect, it } from 'vitest';
import { envelopeMark, seal, unseal } from '../../plugins/shared/wire-kit/envelope.ts';
import { character } from '../support/arbitrary.ts';

it('an envelope opens to what went in, and is base64 with a fixed start', () => {
  fc.assert(
    fc.property(
      fc.record({ vendor: fc.string(), kind: fc.string(), value: fc.string({ unit: character }) }),
      (opaque) => {
        const sealed = seal(opaque);
        expect(unseal(sealed)).toEqual(opaque);
        expect(sealed).toMatch(/^[A-Za-z0-9+/]+=*$/);
        expect(sealed.startsWith(envelopeMark)).toBe(true);
      },
    ),
  );
});

it.each([
  '',
  'CAISbg==',
  envelopeMark,
  `${envelopeMark}e30=`,
  seal({ vendor: 'a', kind: 'b', value: 'c' }).slice(0, -6),
])('an incomplete envelope does not open: %s', (text) => {
  expect(unseal(text)).toBeUndefined();
});
