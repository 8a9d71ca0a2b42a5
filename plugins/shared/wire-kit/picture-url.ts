/** Pictures as OpenAI's two protocols take them: by an address that the vendor fetches, or by a URL that holds the data. */
import type { Block } from '../../../core/index.ts';
import { dataUrl } from './data-url.ts';
import { fitPicture } from './picture-type.ts';
import { refusePart } from './refuse-part.ts';

/** The URL of a picture from another protocol; undefined where it has none. Throws where vendors do not read such pictures. */
export function pictureUrl(block: Extract<Block, { type: 'media' }>, path: string): string | undefined {
  const { source } = block;
  if (source.type === 'base64') return dataUrl(source.data, fitPicture(block, source.data, path));
  if (source.type !== 'url') return undefined;
  if (/^https?:/i.test(source.url)) return source.url;
  return refusePart(
    block,
    path,
    'The provider of this model fetches http and https addresses only; send the picture itself as base64.',
  );
}
