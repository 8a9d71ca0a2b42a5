/**
 * A client's call as its protocol read it. Each protocol has a class of its own, by which its upstream side
 * sees that a call was not translated.
 */
import type {
  CanonicalRequest,
  ClientCall,
  ClientSide,
  Fee,
  InputSize,
  Labels,
  Mode,
  Preferences,
} from '../../../core/index.ts';

interface LabelFields {
  readonly user?: string | null | undefined;
  readonly safety_identifier?: string | null | undefined;
  readonly metadata?: Labels['metadata'] | null;
}

/** The end user and the metadata of a body; undefined if it has neither. */
export function readLabels({ user, safety_identifier: id, metadata }: LabelFields): Labels | undefined {
  return user || id || metadata
    ? { user: (user || id) ?? undefined, metadata: metadata ?? undefined }
    : undefined;
}

/** Matches calls of one kind, which are posted to these paths. */
export function matchPost(...paths: readonly string[]): ClientSide['match'] {
  return (method, path) =>
    method === 'POST' && paths.includes(path) ? { operation: 'generate' } : undefined;
}

/** What the gateway decides by. */
export type CallFacts = Omit<ClientCall, 'suits' | 'needsOtherWire' | 'decode'>;

export class ReadCall implements ClientCall {
  declare readonly model: string;
  declare readonly stream: boolean;
  declare readonly outputLimit: number | undefined;
  declare readonly candidates: number;
  declare readonly effort: string | number | undefined;
  declare readonly reasoningWanted: boolean | undefined;
  declare readonly framing: 'events' | 'array';
  declare readonly usageWanted: boolean;
  declare readonly size: InputSize;
  declare readonly fees: readonly Fee[];
  declare readonly modes: readonly Mode[];
  declare readonly preferences: Preferences;
  declare readonly carriesState: boolean;
  declare readonly truncates: boolean;
  declare readonly labels: Labels | undefined;
  declare readonly defaulted: readonly string[] | undefined;
  #decode: () => CanonicalRequest;

  /** `decode` runs on first use, since most calls are passed on verbatim. */
  constructor(facts: CallFacts, decode: () => CanonicalRequest) {
    Object.assign(this, { fees: [], modes: [], truncates: false }, facts);
    this.#decode = decode;
  }

  decode(): CanonicalRequest {
    const request = this.#decode();
    // Releases the body, which may be large.
    this.#decode = () => request;
    return request;
  }
}
