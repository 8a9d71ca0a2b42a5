/** What the request encoders of every protocol need to know. */
import type { CanonicalRequest, Model } from '../../../core/index.ts';
import { readOwner } from './fit-to-model.ts';
import { needsPicture, needsSearch } from './hosted-tools.ts';
import type { Lose } from './losses.ts';

export interface Encoding {
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

/** For which model a request is encoded, and where its losses are reported. */
export interface Target extends Pick<Encoding, 'model' | 'lose'> {
  readonly inPlace?: boolean;
}

/** The facts for one request. */
export function buildEncoding(request: CanonicalRequest, { model, lose, inPlace = false }: Target): Encoding {
  return {
    inPlace,
    model,
    owner: readOwner(model),
    searches: needsSearch(request),
    paints: needsPicture(request) && !model.output.includes('image'),
    lose,
  };
}
