/**
 * A client's call as its protocol read it. Each protocol has a class of its own, by which its upstream side
 * sees that a call was not translated.
 */
import type {
  CanonicalRequest,
  ClientCall,
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

/** What the gateway decides by. */
export type CallFacts = Omit<ClientCall, 'suits' | 'needsOtherWire' | 'decode'>;

export class ReadCall implements ClientCall {
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  readonly effort: string | number | undefined;
  readonly reasoningWanted: boolean | undefined;
  readonly framing: 'events' | 'array';
  readonly usageWanted: boolean;
  readonly size: InputSize;
  readonly fees: readonly Fee[];
  readonly modes: readonly Mode[];
  readonly preferences: Preferences;
  readonly carriesState: boolean;
  readonly truncates: boolean;
  readonly labels: Labels | undefined;
  readonly defaulted: readonly string[] | undefined;
  #decode: () => CanonicalRequest;

  /** `decode` runs on first use, since most calls are passed on verbatim. */
  constructor(facts: CallFacts, decode: () => CanonicalRequest) {
    this.model = facts.model;
    this.stream = facts.stream;
    this.outputLimit = facts.outputLimit;
    this.candidates = facts.candidates;
    this.effort = facts.effort;
    this.reasoningWanted = facts.reasoningWanted;
    this.framing = facts.framing;
    this.usageWanted = facts.usageWanted;
    this.size = facts.size;
    this.fees = facts.fees ?? [];
    this.modes = facts.modes ?? [];
    this.preferences = facts.preferences;
    this.carriesState = facts.carriesState;
    this.truncates = facts.truncates ?? false;
    this.labels = facts.labels;
    this.defaulted = facts.defaulted;
    this.#decode = decode;
  }

  decode(): CanonicalRequest {
    const request = this.#decode();
    // Releases the body, which may be large.
    this.#decode = () => request;
    return request;
  }
}
