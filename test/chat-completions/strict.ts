/** A host with providers that refuse unknown fields, and their models. */
import type { Model } from '../../core/index.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { xai } from '../../plugins/providers/xai.ts';
import { createHost } from '../support/host.ts';

const host = createHost([
  mistral({ apiKey: 'k' }),
  groq({ apiKey: 'k' }),
  deepseek({ apiKey: 'k' }),
  xai({ apiKey: 'k' }),
]);

export function requireModel(id: string): Model {
  const [offer] = host.catalog.find(id);
  if (!offer) throw new Error(`no ${id}`);
  return offer.model;
}

export const small = requireModel('mistral/mistral-small-2603');
