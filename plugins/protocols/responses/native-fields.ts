/**
 * What only vendors that compact conversations themselves take: the wish that they do, what Codex notes in
 * its items, and items that change settings. Other vendors of this protocol may refuse the request for them.
 */
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { readList, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadRequest } from './call.ts';
import { itemType } from './compaction.ts';
import { readFlags, type Encoding } from './encoding.ts';
import * as Wire from './wire.ts';

const noteField = 'internal_chat_message_metadata_passthrough';

export const updateType = 'configuration_update';

function isUpdate({ type }: Fields): boolean {
  return type === updateType;
}

/** The settings with what items change of them. Of two that change the same, the later one holds. */
export function applyUpdates<Settings extends Fields>(settings: Settings): Settings & Wire.Update {
  return readObjects(settings.input)
    .filter(isUpdate)
    .map((item) => Wire.update.parse(item))
    .reduce<Settings & Wire.Update>(
      (all, { reasoning, text }) => ({
        ...all,
        ...(reasoning && { reasoning: { ...all.reasoning, ...reasoning } }),
        ...(text && { text: { ...all.text, ...text } }),
      }),
      settings,
    );
}

function isManagement({ type }: Fields): boolean {
  return type === itemType;
}

export function hasNativeFields({ wire, items }: Pick<ReadRequest, 'wire' | 'items'>): boolean {
  return (
    readObjects(wire.context_management).some(isManagement) ||
    items.some(({ item }) => Object.hasOwn(item, noteField) || isUpdate(item))
  );
}

/** The body without such fields, each reported as a loss, for a vendor that does not take them. */
export function removeNativeFields(body: Fields, { model, lose }: Pick<Encoding, 'model' | 'lose'>): Fields {
  if (readFlags(model.capabilities).compaction) return body;
  return removeUpdates(removeManagement(removeNotes(body, lose), lose));
}

/** The settings of the request state what its items change. */
function removeUpdates(body: Fields): Fields {
  const input = readList(body.input).filter((item) => !isObject(item) || !isUpdate(item));
  return input.length === readList(body.input).length ? body : { ...applyUpdates(body), input };
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
