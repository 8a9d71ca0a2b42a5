/**
 * Audio output. This protocol requires a voice, a format, and text in addition to the audio. Clients of other
 * protocols receive PCM samples: their own vendors send these too, and streams allow no other format.
 */
import type { CanonicalRequest, ClientCall } from '../../../core/index.ts';
import { fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import type { Encoding } from './encode-parts.ts';
import { ChatCall } from './read-request.ts';

const defaults = { voice: 'alloy', format: 'pcm16' } as const;

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['pcm16', 'audio/L16;codec=pcm;rate=24000'],
]);

export function encodeModalities(request: CanonicalRequest, encoding: Encoding): Fields {
  const modalities = fitModalities(request, encoding.model, encoding);
  // What the client itself says about the audio is in the bag.
  if (!modalities?.includes('audio') || bag.getFields(request).audio) return { modalities };
  encoding.lose('modalities', `spoken as "${defaults.voice}", with text`, 'approximated');
  return { modalities: ['text', 'audio'], audio: defaults };
}

/** Returns the media type of a reply's audio, by the requested format, or undefined if none was requested. */
export function findSoundType(call: ClientCall): string | undefined {
  const format = call instanceof ChatCall ? call.soundFormat : defaults.format;
  return format === undefined ? undefined : (mediaTypes.get(format) ?? `audio/${format}`);
}
