import { expect, it } from 'vitest';
import { writesBriefly } from '../../plugins/shared/wire-kit/cache-writes.ts';

it.each(['{"ttl":"1h"}', '{"ttl":"12h"}', '{"ttl":"\\u0031h"}', '{"ttl":"1\\u0068"}'])(
  'the body %s may ask the provider to keep its cache for an hour or longer',
  (body) => expect(writesBriefly(body)).toBe(false),
);

it.each(['{"ttl":"5m"}', '{"in":"11h"}', '{"in":"2h"}', '{"name":"caf\\u00e9"}'])(
  'the body %s asks for no retention of an hour',
  (body) => expect(writesBriefly(body)).toBe(true),
);
