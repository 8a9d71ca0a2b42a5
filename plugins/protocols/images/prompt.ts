/**
 * Turns a conversation into the input of an image model: one prompt and some pictures. The texts of users and
 * instructions become the prompt, in order; pictures of users and of the model are those to edit.
 */
import { GatewayError, type FormFile, type Turn, type MediaBlock } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { detectBase64PictureType } from '../../shared/wire-kit/media.ts';

export interface Prompt {
  readonly text: string;
  readonly images: readonly Omit<FormFile, 'name'>[];
  readonly mask: Omit<FormFile, 'name'> | undefined;
}

const endings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/** Throws if there is nothing to draw, or a picture cannot be sent. */
export function buildPrompt(turns: readonly Turn[], lose: Lose): Prompt {
  const texts: string[] = [];
  const images: Omit<FormFile, 'name'>[] = [];
  let mask: Prompt['mask'];
  for (const [index, turn] of turns.entries()) {
    if (turn.name !== undefined) lose(`turns[${index}].name`, 'images has no names for participants');
    for (const [place, block] of turn.blocks.entries()) {
      const path = `turns[${index}].blocks[${place}]`;
      if (block.type === 'text' && turn.role !== 'assistant' && turn.role !== 'tool') texts.push(block.text);
      else if (block.type !== 'media') lose(path, 'an image model accepts only a prompt and pictures');
      else if (block.mask) mask = buildFile(block, path, 'mask');
      else images.push(buildFile(block, path, `image-${images.length + 1}`));
      if ('cache' in block && block.cache) lose(`${path}.cache`, 'images has no cache marks');
    }
  }
  const text = texts.filter((each) => each.trim() !== '').join('\n\n');
  if (text === '')
    throw new GatewayError('invalid_request', 'No text describes what to draw: send a prompt.', {
      param: turns[0]?.at,
    });
  return { text, images, mask };
}

function buildFile({ kind, source, at }: MediaBlock, path: string, name: string): Omit<FormFile, 'name'> {
  const mediaType =
    kind === 'image' && source.type === 'base64' ? detectBase64PictureType(source.data) : undefined;
  const ending = mediaType === undefined ? undefined : endings[mediaType];
  if (source.type === 'base64' && mediaType !== undefined && ending !== undefined) {
    return { filename: `${name}.${ending}`, mediaType, bytes: Buffer.from(source.data, 'base64') };
  }
  throw new GatewayError(
    'unsupported_parameter',
    source.type === 'url'
      ? 'This model accepts pictures as data only, and the gateway fetches none from a URL: send a data URL.'
      : 'This model accepts pictures as PNG, JPEG or WebP data, and nothing else besides its prompt.',
    { param: at ?? path },
  );
}
