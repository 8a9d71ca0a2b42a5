/** The models of `four-wires.ts`, by the wire of their vendor. */
import { type ModelFacts } from '../../core/index.ts';
import { readCases } from './cases.ts';
import { type Wire } from './replaying-vendor.ts';

type Facts = Partial<ModelFacts> & { readonly id: string; readonly upstream: string };

export const seen: ModelFacts['input'] = ['text', 'image', 'audio', 'video', 'pdf'];

/** What the vendors charge for separately from tokens. */
export const fees = { webSearch: '0.01', fileSearch: '0.0025', container: '0.03' };

export const facts = readCases<
  Readonly<
    Record<
      Wire,
      {
        readonly plain: Facts;
        readonly thinking: Facts;
        readonly drawing?: Facts;
        readonly searching?: Facts;
        readonly speaking?: Facts;
      }
    >
  >
>('four-wires-models.json', import.meta.url);
