/**
 * Decodes a client's call to a canonical request: one turn of the user, with the pictures to edit before the
 * prompt.
 */
import type { Block, CanonicalRequest, ImageSettings } from '../../../core/index.ts';
import { pickOwnFields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import type { Picture } from './read-form.ts';
import type * as Wire from './wire.ts';

/** Fields that become canonical, and `response_format`, which only allows what the gateway does anyway. */
const readFields = splitNames(`
  model prompt quality n size output_format output_compression background moderation input_fidelity stream
  partial_images response_format user
`);

export function decodeRequest(wire: Wire.Request, pictures: readonly Picture[]): CanonicalRequest {
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: [
      {
        role: 'user',
        at: 'prompt',
        blocks: [...pictures.map(decodePicture), { type: 'text', text: wire.prompt, at: 'prompt' }],
      },
    ],
    candidates: wire.n ?? undefined,
    modalities: ['image'],
    image: decodeSettings(wire),
    user: wire.user ?? undefined,
    ...bag.keep(pickOwnFields(wire, readFields)),
  };
}

function decodePicture({ at, source, mediaType, mask }: Picture): Block {
  return {
    type: 'media',
    kind: 'image',
    source:
      'url' in source
        ? { type: 'url', url: source.url }
        : {
            type: 'base64',
            data: Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('base64'),
          },
    mediaType,
    at,
    ...(mask ? { mask: true } : {}),
  };
}

/** Decodes the settings of a call, or of the image tool of responses, which has the same fields. */
export function decodeSettings(wire: Wire.Settings): ImageSettings {
  const rows: readonly (readonly [name: keyof ImageSettings, value: string | number | null | undefined])[] = [
    ['size', wire.size],
    ['quality', wire.quality],
    ['format', wire.output_format],
    ['compression', wire.output_compression],
    ['background', wire.background],
    ['partials', wire.partial_images],
    ['moderation', wire.moderation],
    ['fidelity', wire.input_fidelity],
  ];
  return Object.fromEntries(rows.filter(([, value]) => value !== null && value !== undefined));
}
