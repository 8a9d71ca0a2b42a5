/** What callers and operators are shown of the records that a ledger holds. */
import { expect, it } from 'vitest';
import { readShownRecord } from '../../plugins/shared/calls/shown.ts';

it('shows a call as it is, if the ledger is older than the record and holds what was shown', () => {
  const stored = {
    id: '01a1f000-0000-7000-8000-000000000000',
    object: 'call',
    created: 1_795_000_000,
    protocol: 'messages',
    operation: 'generate',
    stream: false,
    model: 'house/model',
    outcome: 'completed',
    error: null,
    provider: 'house',
    answered_by: 'house/model',
    duration_ms: 48,
    cost: '0.0000121',
    cost_basis: 'usage',
    rule: null,
    usage: { input: 13, output: 27 },
    losses: [],
    timing: { authenticate: 0.2, read: 1.4, settle_start: 47.9, settle: 5.1 },
    attempts: [
      { number: 1, provider: 'house', model: 'house/model', outcome: 'completed', cost: '0.0000121' },
    ],
  };
  expect(readShownRecord(JSON.stringify(stored))).toEqual(stored);
});
