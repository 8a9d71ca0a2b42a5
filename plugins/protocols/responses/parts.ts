/** Writes parts of a client's own body: what a plugin changed in it, and what the model would refuse. */
import type { Block, CanonicalRequest, PartPlace, PartsSide } from '../../../core/index.ts';
import { isPriced, loseUnpriced } from '../../shared/wire-kit/hosted-tools.ts';
import { readList, readMember, readObject, readObjects } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { isSearch } from './decode-tools.ts';
import { encodeBlock, encodeTurn, isSpoken } from './encode-items.ts';
import { encodeParts } from './encode-parts.ts';
import { createEncoding } from './encode-request.ts';
import type { Encoding } from './encoding.ts';
import { isStale } from './read-request.ts';

export const parts: PartsSide = {
  list: 'input',
  start({ text, request, model, lose }) {
    const encoding = createEncoding(request, model, lose, true);
    const items = readList(readMember(JSON.parse(text), 'input'));
    return {
      isStale: (index) => isStale(readObject(items[index])),
      readsState: ({ vendor }) => vendor === encoding.owner,
      encodeTurn: (turn, index) => encodeTurn(turn, index, encoding),
      encodeBlock: (block, place) => encodePart(block, place, encoding),
      finish: (body) => (isPriced(model, 'web-search') ? body : removeSearches(body, request, encoding)),
    };
  },
};

function encodePart(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  const isInResult = path.includes('.content[');
  if (isSpoken(block)) return encodeParts(block, isInResult ? 'tool' : turn.role, path, encoding);
  return encodeBlock(block, path, encoding) ?? [];
}

/** Codex offers a search with every call. Without a price it is left out. */
function removeSearches(body: Fields, { tools = [] }: CanonicalRequest, encoding: Encoding): Fields {
  const offered = readObjects(body.tools);
  const kept = offered.filter((tool) => !isSearch(tool));
  if (kept.length === offered.length) return body;
  for (const [index, tool] of tools.entries())
    if (tool.type === 'hosted' && tool.kind === 'web-search') loseUnpriced(tool, `tools[${index}]`, encoding);
  const { tools: _tools, tool_choice: choice, ...rest } = body;
  return kept.length > 0 ? { ...rest, tools: kept, tool_choice: choice } : rest;
}
