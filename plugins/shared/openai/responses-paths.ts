/** Paths below `/responses` of what vendors with the whole responses protocol do beside a response. */
import type { Operation } from '../../../core/index.ts';

export const responsesPaths: Readonly<Partial<Record<Operation, string>>> = {
  count: '/input_tokens',
  compact: '/compact',
};
