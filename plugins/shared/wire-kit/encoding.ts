/** What the request encoders of every protocol need to know. */
import type { CanonicalRequest, Loss, Model } from '../../../core/index.ts';
import { readOwner } from './fit-to-model.ts';
import { needsPicture, needsSearch } from './hosted-tools.ts';
import { collectLosses, type Lose } from './losses.ts';
import type { Bag } from './vendor-bag.ts';

export interface Encoding {
  /** Whether the client uses the provider's protocol: the encoder then restores what the client wrote. */
  readonly own: boolean;
  /** Whether the parts go into the client's own body, of which the rest stays as it is. */
  readonly inPlace: boolean;
  readonly model: Model;
  /** The vendor of the model, which alone can read the state that it sealed. */
  readonly owner: string;
  /** Whether the request is for a web search. */
  readonly searches: boolean;
  /** Whether the request is for a picture that a tool makes. Some models make it themselves. */
  readonly paints: boolean;
  readonly lose: Lose;
}

/** The facts for one request. */
export function buildEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  return {
    own: false,
    inPlace,
    model,
    owner: readOwner(model),
    searches: needsSearch(request),
    paints: needsPicture(request) && !model.output.includes('image'),
    lose,
  };
}

/** The facts for one request, and the list of what its encoders lose. */
export function startEncoding(
  request: CanonicalRequest,
  model: Model,
  bag: Pick<Bag, 'getForm'>,
): Encoding & { readonly losses: readonly Loss[] } {
  return {
    own: bag.getForm(request).includes('read'),
    inPlace: false,
    model,
    owner: readOwner(model),
    searches: needsSearch(request),
    paints: needsPicture(request) && !model.output.includes('image'),
    ...collectLosses(),
  };
}
