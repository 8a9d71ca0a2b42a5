/** Encodes images and documents. Anthropic accepts images of four types, PDFs and text. */
import type { MediaBlock } from '../../../core/index.ts';
import { refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
import { decodeText, detectDocumentType, isTextual, fitPicture } from '../../shared/wire-kit/media.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor } from './bag.ts';
import type { Encoding } from './encoding.ts';

export function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields {
  if (block.kind === 'image') return { type: 'image', source: encodeImageSource(block, path, encoding) };
  if (block.kind === 'document') return encodeDocument(block, path, encoding);
  return refusePart(block, path, `This model is called through a protocol that accepts no ${block.kind}.`);
}

/** Encodes a file or URL, alike for images and documents. Returns undefined for other sources. */
function encodeReference(block: MediaBlock, path: string, { model }: Encoding): Fields | undefined {
  const { source } = block;
  if (source.type === 'file') {
    if (source.vendor === nativeVendor) return { type: 'file', file_id: source.id };
    return refuseFile(block, path, source.vendor);
  }
  if (source.type !== 'url') return undefined;
  if (block.kind === 'image' && !model.capabilities.imageUrls)
    return refusePart(
      block,
      path,
      'The provider of this model does not fetch images; send the image itself as base64.',
    );
  if (/^https:/i.test(source.url)) return { type: 'url', url: source.url };
  return refusePart(
    block,
    path,
    'The provider of this model only fetches https URLs; send the content itself as base64.',
  );
}

function encodeImageSource(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, detail } = block;
  if (detail !== undefined && detail !== 'auto')
    encoding.lose(`${path}.detail`, 'messages has no image detail');
  const reference = encodeReference(block, path, encoding);
  if (reference) return reference;
  if (source.type !== 'base64') return refusePart(block, path, 'An image cannot be sent as text.');
  return {
    type: 'base64',
    media_type: fitPicture(block, source.data, path),
    data: source.data,
  };
}

/** Separates the texts of a document in the canonical text. */
export const textBreak = '\n\n';

function encodeDocument(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, title, context, filename } = block;
  // Only a result of a search has its source beside its text.
  if (source.type === 'text' && typeof bag.getFields(block).source === 'string')
    return { type: 'search_result', title, content: [{ type: 'text', text: source.text }] };
  return {
    type: 'document',
    source: encodeReference(block, path, encoding) ?? encodeDocumentSource(block, path, encoding),
    title: title ?? filename,
    context,
  };
}

function encodeDocumentSource(block: MediaBlock, path: string, { lose }: Encoding): Fields {
  const { source, mediaType } = block;
  if (source.type === 'text') return { type: 'text', media_type: 'text/plain', data: source.text };
  if (source.type === 'base64') {
    const { data } = source;
    const isPdf = (detectDocumentType(data) ?? mediaType) === 'application/pdf';
    if (isPdf) return { type: 'base64', media_type: 'application/pdf', data };
    if (isTextual(mediaType))
      return { type: 'text', media_type: 'text/plain', data: decodeText(data, path, lose) };
  }
  return refusePart(
    block,
    path,
    'The provider of this model accepts documents as PDF or text, and this one is ' +
      `${mediaType ?? 'of an unknown type'}.`,
  );
}
