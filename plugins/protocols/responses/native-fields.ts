/**
 * What only vendors that compact conversations themselves take: the wish that they do, and what Codex notes
 * in its items. Other vendors of this protocol may refuse a request for an unknown field.
 */
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadRequest } from './call.ts';
import { itemType } from './compaction.ts';
import { readFlags, type Encoding } from './encoding.ts';

const noteField = 'internal_chat_message_metadata_passthrough';

function isManagement({ type }: Fields): boolean {
  return type === itemType;
}

export function hasNativeFields({ wire, items }: Pick<ReadRequest, 'wire' | 'items'>): boolean {
  return (
    readObjects(wire.context_management).some(isManagement) ||
    items.some(({ item }) => Object.hasOwn(item, noteField))
  );
}

/** The body without such fields, each reported as a loss, for a vendor that does not take them. */
export function removeNativeFields(body: Fields, { model, lose }: Pick<Encoding, 'model' | 'lose'>): Fields {
  return readFlags(model.capabilities).compaction ? body : removeManagement(removeNotes(body, lose), lose);
}

function removeManagement(body: Fields, lose: Lose): Fields {
  const { context_management: edits, ...rest } = body;
  const kept = readObjects(edits).filter((edit) => !isManagement(edit));
  if (kept.length === readObjects(edits).length) return body;
  lose('context_management', 'the provider of this model does not compact by itself', 'vendor');
  return kept.length > 0 ? { ...rest, context_management: kept } : rest;
}

function removeNotes(body: Fields, lose: Lose): Fields {
  if (!Array.isArray(body.input)) return body;
  const input = body.input.map((item: unknown, index) => {
    if (!isObject(item) || !Object.hasOwn(item, noteField)) return item;
    const { [noteField]: _note, ...rest } = item;
    lose(`input[${index}].${noteField}`, 'the provider of this model does not know it', 'vendor');
    return rest;
  });
  return { ...body, input };
}
