/**
 * Sound that a model is to make. This wire wants a voice and a format named with it, and text beside it; what other
 * protocols are given is samples, since that is what their own vendors make, and streams hold nothing else.
 */
import type { CanonicalRequest, ClientCall, Model } from '../../../core/index.ts';
import { fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { Encoding } from './encode-parts.ts';
import { ChatCall } from './read-request.ts';

const usual = { voice: 'alloy', format: 'pcm16' } as const;

/** What each format is called elsewhere. */
const mediaTypes: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['pcm16', 'audio/L16;codec=pcm;rate=24000'],
]);

export function encodeModalities(request: CanonicalRequest, model: Model, encoding: Encoding): Fields {
  const modalities = fitModalities(request, model, encoding);
  if (encoding.own || !modalities?.includes('audio')) return { modalities };
  encoding.lose('modalities', `spoken as "${usual.voice}", and written beside it`, 'approximated');
  return { modalities: ['text', 'audio'], audio: usual };
}

/** What a reply's sound is, by the format that was asked for; undefined where none was. */
export function soundType(call: ClientCall): string | undefined {
  const format = call instanceof ChatCall ? call.soundFormat : usual.format;
  return format === undefined ? undefined : (mediaTypes.get(format) ?? `audio/${format}`);
}
