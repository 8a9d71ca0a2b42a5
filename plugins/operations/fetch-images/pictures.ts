/** Finds the pictures of a request that are named by address, and puts the fetched ones into it. */
import type { Block, CanonicalRequest } from '../../../core/index.ts';
import type { Picture } from './fetch.ts';

type MediaBlock = Extract<Block, { type: 'media' }>;

/** A picture that a request names by its URL. */
export interface Named {
  readonly url: string;
  /** Where the client wrote it in its own request. */
  readonly at: string | undefined;
}

/** The picture that a block names by an `http` or `https` address, if any. */
function findPicture(block: Block): Named | undefined {
  if (
    block.type !== 'media' ||
    block.kind !== 'image' ||
    block.source.type !== 'url' ||
    !/^https?:/i.test(block.source.url)
  )
    return undefined;
  return { url: block.source.url, at: block.at };
}

/** In the order of the request, with those in results of tools. */
export function listPictures({ turns }: CanonicalRequest): Named[] {
  const blocks = turns.flatMap((turn) =>
    turn.blocks.flatMap((block): Block[] => (block.type === 'tool-result' ? block.content : [block])),
  );
  return blocks.flatMap((block) => findPicture(block) ?? []);
}

/** A new request, with fetched pictures in place of their addresses. */
export function insertPictures(
  request: CanonicalRequest,
  fetched: ReadonlyMap<string, Picture>,
): CanonicalRequest {
  const fillBlock = <Kind extends Block>(block: Kind): Kind | MediaBlock => {
    const picture = fetched.get(findPicture(block)?.url ?? '');
    if (!picture || block.type !== 'media') return block;
    return { ...block, source: { type: 'base64', data: picture.data }, mediaType: picture.mediaType };
  };
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block): Block =>
      block.type === 'tool-result' ? { ...block, content: block.content.map(fillBlock) } : fillBlock(block),
    ),
  }));
  return { ...request, turns };
}
