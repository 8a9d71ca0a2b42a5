/** Writes parts of a client's own body: what a plugin changed in it, and what the model would refuse. */
import type { Block, PartPlace, PartsSide } from '../../../core/index.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { readList, readMember, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeTurn } from './encode-contents.ts';
import { encodeBlock, encodeResponse, encodeResult } from './encode-parts.ts';
import { checksSignatures, createEncoding, type Encoding } from './encoding.ts';
import { isNative, placeholders } from './signature.ts';
import { toSnakeCase } from './spelling.ts';

export const parts: PartsSide = {
  list: 'contents',
  liftsInstructions: true,
  start({ call, text, request, model, lose }) {
    const encoding = createEncoding(request, model, lose, true);
    const contents = call.carriesState ? listOf(readMember(JSON.parse(text), 'contents')) : [];
    return {
      isStale: (index) => holdsEnvelope(contents[index]),
      readsState: (state) => !encoding.native || isNative(state),
      encodeTurn: (turn, index) => encodeTurn(turn, index, request.turns, encoding),
      encodeBlock: (block, place) => encodePart(block, place, encoding),
      finish: (body) => (checksSignatures(model) ? markUnsealedCalls(body) : body),
    };
  },
};

/** Google accepts a single object in place of a list. */
function listOf(value: unknown): readonly unknown[] {
  return isObject(value) ? [value] : readList(value);
}

function holdsEnvelope(content: unknown): boolean {
  return containsEnvelope(JSON.stringify(content ?? null));
}

function encodePart(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  if (block.type === 'tool-result') {
    const { part, files } = encodeResult(block, path, encoding, { name: block.name ?? '', filesBefore: 0 });
    return [part, ...files];
  }
  if (block.type !== 'text' || !path.includes('.content[')) return encodeBlock(block, path, encoding);
  const result = turn.blocks.find(({ type, at = '' }) => type === 'tool-result' && block.at?.startsWith(at));
  return [encodeResponse([block.text], { isError: result?.type === 'tool-result' && result.isError })];
}

/** A member of a client's body, in either spelling. */
function readSpelled(thing: Fields, name: string): unknown {
  return thing[name] ?? thing[toSnakeCase(name)];
}

/** Gemini refuses a step of the current turn whose first call has neither a signature nor a placeholder. */
function markUnsealedCalls(body: Fields): Fields {
  const contents = listOf(body.contents).map(readObject);
  const current = contents.findLastIndex(
    (content) =>
      content.role !== 'model' &&
      !listOf(content.parts).some((part) => readSpelled(readObject(part), 'functionResponse')),
  );
  let isMarked = false;
  const marked = contents.map((content, index) => {
    if (index <= current || content.role !== 'model') return content;
    const written = listOf(content.parts).map(readObject);
    const place = written.findIndex((part) => readSpelled(part, 'functionCall'));
    const call = written[place];
    if (!call || readSpelled(call, 'thoughtSignature')) return content;
    isMarked = true;
    return { ...content, parts: written.with(place, { ...call, thoughtSignature: placeholders[0] }) };
  });
  return isMarked ? { ...body, contents: marked } : body;
}
