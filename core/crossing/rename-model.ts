/** Replaces the provider's model name with ours, in a whole reply and in every event of a stream. */
import { isAscii } from 'node:buffer';
import type { UpstreamSide } from '../protocol.ts';
import { detach } from '../util/detached.ts';
import { toBuffer } from './alike-run.ts';
import { locateString } from './splice.ts';

/** Returns a block of a stream unchanged or edited. */
export type BlockWriter = (raw: string, data: string | undefined) => string;

/**
 * Bytes are edited as bytes if each is a character. Texts would be copied to join them, to measure them, and
 * to send them.
 */
export function renameModelInReply(
  bytes: Uint8Array,
  text: string,
  paths: UpstreamSide['modelPaths'],
  id: string,
): string | Uint8Array {
  const place = locateModel(text, paths);
  if (!place) return text;
  const json = JSON.stringify(id);
  if (!isAscii(bytes)) return text.slice(0, place.start) + json + text.slice(place.end);
  const renamed = Buffer.allocUnsafe(bytes.length + json.length - (place.end - place.start));
  const whole = toBuffer(bytes);
  whole.copy(renamed, 0, 0, place.start);
  renamed.write(json, place.start, 'latin1');
  whole.copy(renamed, place.start + json.length, place.end);
  return renamed;
}

/**
 * Replaces the model name in each event. The events of one stream begin alike, so the place is found once,
 * and later events are recognised by their beginning.
 */
export function createModelRenamer(paths: UpstreamSide['modelPaths'], id: string): BlockWriter {
  const json = JSON.stringify(id);
  const names = [...new Set(paths.map((path) => `"${path.at(-1)}"`))];
  let beginning: string | undefined;
  let renamed = '';
  return (raw, data) => {
    // V8 compares a slice by words, but `startsWith` by characters.
    if (beginning !== undefined && raw.slice(0, beginning.length) === beginning)
      return renamed + raw.slice(beginning.length);
    if (!data?.startsWith('{') || !names.some((name) => data.includes(name))) return raw;
    const place = locateModel(data, paths);
    const offset = raw.indexOf(data);
    if (!place || offset < 0) return raw;
    beginning = detach(raw.slice(0, offset + place.end));
    renamed = detach(raw.slice(0, offset + place.start) + json);
    return renamed + raw.slice(beginning.length);
  };
}

function locateModel(text: string, paths: UpstreamSide['modelPaths']): ReturnType<typeof locateString> {
  for (const path of paths) {
    const place = locateString(text, path);
    if (place) return place;
  }
  return undefined;
}
