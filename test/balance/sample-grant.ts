/** Targets and grants for quotes. */
import { type Grant, type Planned, type Target } from '../../core/index.ts';
import { type Policy } from '../../plugins/meters/balance/admission.ts';
import { buildRouted } from '../support/exchange.ts';
import { target } from './targets.ts';

export const lower: Policy = { whenShort: 'lower', leastOutput: 16 };

/** A dollar a million tokens is 1000 nano-USD a token. */
export const cheap = target('cheap', { input: '1', output: '2' });

interface Size {
  readonly searches?: number;
  readonly outputLimit?: number | undefined;
  readonly candidates?: number;
  readonly size?: Partial<Planned['call']['size']>;
}

export function buildPlanned({ outputLimit, candidates = 1, searches = 0, size }: Size = {}): Planned {
  const exchange = buildRouted(cheap);
  return {
    ...exchange,
    call: {
      ...exchange.call,
      outputLimit,
      candidates,
      fees: [{ name: 'webSearch', field: 'tools[0].type', most: searches }],
      size: { textBytes: 100, images: 0, mediaBytes: 0, ...size },
    },
  };
}

export function grant(...targets: Target[]): Grant {
  return { targets };
}
