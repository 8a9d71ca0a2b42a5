/** Reads a client's call, and collects the facts that routing and billing need. An edit is sent as a form. */
import { Form, type Match, type Operation } from '../../../core/index.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest } from './decode-request.ts';
import { readForm, readEditJson, buildBodyError, type Picture } from './read-form.ts';
import type { QualityOption } from './usage.ts';
import * as Wire from './wire.ts';

export class ImageCall extends ReadCall {
  readonly operation: Operation;
  /** Whether the client sent the number of images, even if it is one. */
  readonly statesCount: boolean;
  /** The number of pictures to edit, without the mask. */
  readonly inputImages: number;

  constructor(operation: Operation, given: Wire.Request, textBytes: number, pictures: readonly Picture[]) {
    const wire = given.quality ? given : { ...given, quality: 'auto' };
    const facts: CallFacts = {
      model: wire.model,
      stream: wire.stream ?? false,
      outputLimit: undefined,
      candidates: wire.n ?? 1,
      framing: 'events',
      usageWanted: true,
      size: { textBytes, images: pictures.length, mediaBytes: 0 },
      preferences: readPreferences(wire.provider),
      carriesState: false,
      labels: readLabels(wire),
      defaulted: given.quality ? [] : ['quality'],
    };
    super(facts, () => decodeRequest(wire, pictures));
    this.operation = operation;
    this.statesCount = typeof wire.n === 'number';
    this.inputImages = pictures.filter(({ mask }) => !mask).length;
  }
}

/** Creates the reader, which throws `invalid_request`. `quality`: whether calls have to name a quality. */
export function createReader(
  quality: QualityOption,
): (body: unknown, text: string, match: Match) => ImageCall {
  const checkFields = (
    fields: unknown,
    schema: typeof Wire.request | typeof Wire.edit | typeof Wire.lenientEdit,
    qualities: string,
  ): Wire.Request => {
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
    if (operation === 'edit') {
      const isForm = body instanceof Form;
      const { fields, pictures } = isForm ? readForm(body) : readEditJson(body);
      // The text of a form has no pictures in it.
      const textBytes = Buffer.byteLength(isForm ? text : JSON.stringify(fields));
      const wire = checkFields(
        fields,
        quality === 'required' ? Wire.edit : Wire.lenientEdit,
        '"low", "medium" or "high"',
      );
      return new ImageCall(operation, wire, textBytes, pictures);
    }
    if (body instanceof Form) throw buildBodyError('application/json');
    const wire = checkFields(body, Wire.request, '"auto", "low", "medium", "high", "standard" or "hd"');
    return new ImageCall(operation, wire, Buffer.byteLength(text), []);
  };
}
