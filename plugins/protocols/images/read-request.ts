/** Reads a client's call, and the facts that the gateway decides by. An edit comes as a form. */
import {
  Form,
  type CanonicalRequest,
  type ClientCall,
  type InputSize,
  type Labels,
  type Match,
  type Operation,
  type Preferences,
} from '../../../core/index.ts';
import { labelsOf } from '../../shared/wire-kit/labels.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest } from './decode-request.ts';
import { readForm, wrongBody, type Picture } from './read-form.ts';
import { editWire, requestWire, type WireRequest } from './wire.ts';

/** A call that a client made in this protocol. */
export class ImageCall implements ClientCall {
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit = undefined;
  readonly candidates: number;
  readonly framing = 'events';
  readonly usageWanted = true;
  readonly size: InputSize;
  readonly preferences: Preferences;
  readonly carriesState = false;
  /** Whether the client stated the number of images, even if it was one. */
  readonly statesCount: boolean;
  /** Number of pictures to edit, without the mask. */
  readonly inputImages: number;
  readonly #wire: WireRequest;
  #pictures: readonly Picture[];
  #request: CanonicalRequest | undefined;

  constructor(operation: Operation, wire: WireRequest, textBytes: number, pictures: readonly Picture[]) {
    this.operation = operation;
    this.model = wire.model;
    this.stream = wire.stream ?? false;
    this.candidates = wire.n ?? 1;
    this.statesCount = typeof wire.n === 'number';
    this.inputImages = pictures.filter(({ mask }) => !mask).length;
    this.size = { textBytes, images: pictures.length, mediaBytes: 0 };
    this.preferences = readPreferences(wire.provider);
    this.#wire = wire;
    this.#pictures = pictures;
  }

  get labels(): Labels | undefined {
    return labelsOf(this.#wire);
  }

  decode(): CanonicalRequest {
    if (this.#request) return this.#request;
    this.#request = decodeRequest(this.#wire, this.#pictures);
    // Released here, since they may be large and the request holds them now.
    this.#pictures = [];
    return this.#request;
  }
}

/** Creates the reader, which throws `invalid_request`. `quality`: whether calls must have one. */
export function requestReader(
  quality: 'required' | 'optional',
): (body: unknown, text: string, match: Match) => ImageCall {
  const checked = (
    fields: unknown,
    schema: typeof requestWire | typeof editWire,
    qualities: string,
  ): WireRequest => {
    const wire = checkWire(schema, fields);
    if (quality === 'required' && !wire.quality) throw buildFieldError('quality', 'is missing', qualities);
    if (wire.partial_images && !wire.stream)
      throw buildFieldError(
        'partial_images',
        'is only for streams',
        '"stream": true with it, or leave it out',
      );
    return wire;
  };
  return (body, text, { operation }) => {
    const textBytes = Buffer.byteLength(text);
    if (operation === 'edit') {
      if (!(body instanceof Form)) throw wrongBody('multipart/form-data');
      const { fields, pictures } = readForm(body);
      return new ImageCall(
        operation,
        checked(fields, editWire, '"low", "medium" or "high"'),
        textBytes,
        pictures,
      );
    }
    if (body instanceof Form) throw wrongBody('application/json');
    return new ImageCall(
      operation,
      checked(body, requestWire, '"auto", "low", "medium", "high", "standard" or "hd"'),
      textBytes,
      [],
    );
  };
}
