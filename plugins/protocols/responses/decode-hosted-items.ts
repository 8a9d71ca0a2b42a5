/** Decodes items of tools that the provider ran (code, images, searches and others) to canonical blocks. */
import { toCount, type BlockKind, type CanonicalEvent } from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import type { BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { readList, readText } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

interface HostedBlock {
  readonly kind: BlockKind;
  readonly facts: BlockFacts;
  readonly text: string;
}

export function decodeHostedItem(type: string, wire: Fields): HostedBlock[] {
  const id = readText(wire.id) || undefined;
  if (type === 'image_generation_call') {
    const mediaType = `image/${readText(wire.output_format) || 'png'}`;
    const { result, ...item } = wire;
    return [{ kind: 'image', facts: { id, mediaType, ...bag.keep({ item }) }, text: readText(result) }];
  }
  if (type === 'code_interpreter_call') return decodeCode(id, wire);
  const { action } = wire;
  const facts = { id, name: type.replace(/_call$/, ''), ...bag.keep({ item: wire }) };
  return [{ kind: 'server-tool', facts, text: isObject(action) ? JSON.stringify(action) : '' }];
}

/** Returns a block with the code, followed by a block with its output. */
function decodeCode(id: string | undefined, wire: Fields): HostedBlock[] {
  const code: HostedBlock = {
    kind: 'code',
    facts: { id, ...bag.keep({ item: wire }) },
    text: readText(wire.code),
  };
  const logs = readList(wire.outputs).flatMap((output) =>
    isObject(output) && output.type === 'logs' ? [readText(output.logs)] : [],
  );
  if (logs.length === 0) return [code];
  // The item above holds the logs too, so the encoder of this protocol skips this block.
  const facts = { name: codeResult, ...bag.keep({ repeated: true }) };
  return [code, { kind: 'server-tool', facts, text: logs.join('\n') }];
}

/** Decodes a preview of an image that the provider is still generating. */
export function decodePartialImage(event: Fields): CanonicalEvent[] {
  const {
    type: _type,
    sequence_number: _number,
    output_index: _index,
    partial_image_index: index,
    partial_image_b64: data,
    ...facts
  } = event;
  if (typeof data !== 'string') return [];
  return [{ type: 'partial-image', candidate: 0, index: toCount(index) ?? 0, data, ...bag.keep(facts) }];
}
