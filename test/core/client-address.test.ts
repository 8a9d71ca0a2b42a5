import { isIP } from 'node:net';
import { expect, it } from 'vitest';
import { resolveClientAddress } from '../../core/http/arrival.ts';

it.each<[string | undefined, number, string]>([
  [undefined, 0, '10.0.0.9'],
  ['1.2.3.4', 0, '10.0.0.9'],
  [undefined, 1, '10.0.0.9'],
  ['1.2.3.4', 1, '1.2.3.4'],
  ['6.6.6.6, 1.2.3.4', 1, '1.2.3.4'],
  ['1.2.3.4, 10.0.0.8', 2, '1.2.3.4'],
  ['6.6.6.6, 1.2.3.4, 10.0.0.8', 2, '1.2.3.4'],
  ['6.6.6.6,1.2.3.4 ,10.0.0.8', 2, '1.2.3.4'],
  ['2001:db8::1', 1, '2001:db8::1'],
])('the address of a client reads %j with %i trusted proxies as %s', (forwarded, proxies, address) => {
  expect(resolveClientAddress(forwarded, '10.0.0.9', proxies)).toBe(address);
});

it.each([
  '',
  ',',
  ' , ,',
  'unknown',
  '<script>',
  '1.2.3.4:80',
  '[2001:db8::1]:443',
  'a,'.repeat(2000),
  '1.2.3.4\u0000',
])('the address of a client returns an IP address, whatever the header contains: %j', (forwarded) => {
  for (const proxies of [1, 2, 10])
    expect(isIP(resolveClientAddress(forwarded, '10.0.0.9', proxies))).toBeGreaterThan(0);
});
