/**
 * Canonical turns as messages. A turn that holds tool results becomes one tool message for each; media inside a
 * result, or in what the assistant said, which their messages cannot hold, follows in a user message behind all results
 * of the step.
 */
import type { Block, Turn } from '../../../core/index.ts';
import { withDistinctCallIds, inSteps } from '../../shared/wire-kit/calls-and-results.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { wrapInput } from '../../shared/wire-kit/offered-tools.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { madePicture, wholeCall, wholeMessage } from './decode-messages.ts';
import { cacheMark, contentOf, encodeParts, type Encoding } from './encode-parts.ts';
import { refuses } from './fields.ts';
import { isForeign, messageMark, ownMark } from './foreign-marks.ts';
import { writeUrl } from './media.ts';
import {
  blankThoughts,
  lacksThoughts,
  refusesExtensions,
  takesThinkingParts,
  thinkingForm,
  writeReasoning,
  type ReasoningBlock,
} from './reasoning.ts';
import { fitCallId, fitName } from './tool-names.ts';

type ToolResult = Extract<Block, { type: 'tool-result' }>;
type ToolCall = Extract<Block, { type: 'tool-call' }>;
type Media = Extract<Block, { type: 'media' }>;

/** A block with its canonical path. */
interface Placed<Kind extends Block = Block> {
  readonly block: Kind;
  readonly path: string;
}

export function encodeMessages(spoken: readonly Turn[], encoding: Encoding): Fields[] {
  const flags = chatFlags(encoding.model.capabilities);
  const asked = Object.keys(flags.fields).length > 0 ? withoutRefused(spoken, encoding) : spoken;
  const turns = encoding.own
    ? [...asked.entries()].map((step): Steps => [step])
    : together(inSteps(withDistinctCallIds(asked)));
  const messages: Fields[] = [];
  let shown: Fields[] = [];
  let files = 0;
  const showMedia = (): void => {
    if (shown.length > 0) messages.push({ role: 'user', content: shown });
    shown = [];
  };
  for (const steps of turns) {
    const [[, turn]] = steps;
    const text = onlyText(turn);
    if (text) {
      showMedia();
      messages.push({ role: roleOf(turn, encoding), content: text });
      continue;
    }
    const placed = placedIn(steps);
    if (bag.form(turn).includes(wholeMessage)) {
      for (const { block } of placed)
        if (block.type === 'foreign' && isObject(block.value)) messages.push(block.value);
      continue;
    }
    const others: Placed[] = [];
    for (const each of placed) {
      const { block, path } = each;
      if (block.type !== 'tool-result') {
        others.push(each);
        continue;
      }
      const { message, media } = encodeResult(turn, block, path, encoding, files);
      messages.push(message);
      for (const part of media) shown.push(part);
      files += media.length / 2;
    }
    if (others.length === 0 && placed.length > 0) continue;
    showMedia();
    const message =
      turn.role === 'assistant'
        ? encodeAssistant(turn, encoding.own ? others : withBreaks(others), encoding)
        : encodeSpoken(turn, others, encoding);
    if (turn.role === 'assistant') for (const part of encodeShown(others, encoding)) shown.push(part);
    // A turn of which nothing is left says nothing.
    if (encoding.own || turns.length === 1 || !saysNothing(message)) messages.push(message);
  }
  showMedia();
  if (!flags.thinkingMode || encoding.thoughtless || !lacksThoughts(messages)) return messages;
  if (encoding.own)
    encoding.lose(
      'turns',
      'sent with a blank in place of the thoughts that led to calls of tools, without which the model refuses them',
      'approximated',
    );
  return blankThoughts(messages);
}

/** The turns without the fields that the vendor refuses, told as lost where they say something. A result keeps the name of its tool. */
function withoutRefused(turns: readonly Turn[], { model, lose }: Encoding): Turn[] {
  return turns.map((turn, index) => {
    const named = turn.role !== 'tool' && turn.name !== undefined && refuses(model, 'name');
    if (named) lose(`turns[${index}].name`, 'the model does not take it', 'model');
    const fields = Object.entries(bag.fields(turn));
    const kept = fields.filter(([field, value]) => {
      if (!refuses(model, field)) return true;
      if (value !== null && !(Array.isArray(value) && value.length === 0))
        lose(`turns[${index}].${field}`, 'the model does not take it', 'model');
      return false;
    });
    if (!named && kept.length === fields.length) return turn;
    return {
      ...turn,
      name: named ? undefined : turn.name,
      vendor: bag.keep(Object.fromEntries(kept)).vendor,
    };
  });
}

type Step = readonly [index: number, turn: Turn];
type Steps = readonly [Step, ...Step[]];

/** Turns in groups, each of which becomes one message. Behind calls nothing but results may stand, so what an assistant says after its calls joins their message. */
function together(turns: readonly Step[]): Steps[] {
  const groups: [Step, ...Step[]][] = [];
  let calls = false;
  for (const step of turns) {
    const [, { role, blocks }] = step;
    const last = groups.at(-1);
    const isBeside: boolean = calls && role === 'assistant';
    if (last && isBeside) last.push(step);
    else groups.push([step]);
    calls = isBeside || (role === 'assistant' && blocks.some(({ type }) => type === 'tool-call'));
  }
  return groups;
}

function placedIn(steps: Steps): Placed[] {
  return steps.flatMap(([index, { blocks }]) =>
    blocks.map((block, position) => ({ block, path: `turns[${index}].blocks[${position}]` })),
  );
}

/** The text of a turn that is nothing else, as most of a long conversation are. */
function onlyText(turn: Turn): string | undefined {
  const { blocks, name, vendor } = turn;
  const [block] = blocks;
  if (
    blocks.length !== 1 ||
    block?.type !== 'text' ||
    name !== undefined ||
    vendor ||
    bag.form(turn).length > 0
  )
    return undefined;
  return block.opaque || block.cache || block.vendor ? undefined : block.text;
}

function saysNothing({ content, tool_calls: calls, refusal, audio, images }: Fields): boolean {
  return (
    (content === '' || content === null) &&
    [calls, refusal, audio, images].every((field) => field === undefined)
  );
}

/** A tool message, and the media that has to follow it: for each a line that names it, and the part itself. */
function encodeResult(
  turn: Turn,
  result: ToolResult,
  path: string,
  encoding: Encoding,
  files: number,
): { message: Fields; media: Fields[] } {
  const form = bag.form(turn);
  const texts: Fields[] = [];
  const media: Fields[] = [];
  for (const [position, block] of result.content.entries()) {
    for (const part of encodeParts(block, `${path}.content[${position}]`, encoding)) {
      if (part.type === 'text') {
        texts.push(part);
        continue;
      }
      const name = `file ${files + media.length / 2 + 1}`;
      texts.push({ type: 'text', text: `See ${name}.` });
      media.push({ type: 'text', text: `This is ${name}:` }, part);
    }
  }
  const mark = cacheMark(result, path, encoding);
  const last = mark && texts.pop();
  if (last) texts.push({ prompt_cache_breakpoint: mark, ...last });
  else if (mark) encoding.lose(`${path}.cache`, 'an empty result cannot be marked');
  if (result.isError) encoding.lose(`${path}.isError`, 'chat-completions has no mark for failed tools');
  const fields = bag.fields(turn);
  // What only some vendors know is kept with the whole.
  const content = fields.content ? fields.content : contentOf(texts, form, '\n\n', encoding);
  if (form.includes('function'))
    return {
      message: overlay(fields, {
        role: 'function',
        name: result.name,
        content: content ?? null,
        ...messageMark([result]),
      }),
      media,
    };
  const id = callIdOf(result.callId, encoding);
  const name = turn.name ?? (encoding.own ? result.name : undefined);
  return {
    message: overlay(fields, {
      role: 'tool',
      tool_call_id: id,
      name,
      content: content ?? '',
      ...messageMark([result]),
    }),
    media,
  };
}

function roleOf({ role }: Turn, { extras }: Encoding): string {
  // Most vendors know no developer; they read the system's words alike.
  if (role === 'developer') return extras ? 'developer' : 'system';
  return role === 'system' || role === 'assistant' ? role : 'user';
}

function encodeSpoken(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
  const instructs = turn.role === 'system' || turn.role === 'developer';
  const parts = placed.flatMap(({ block, path }): Fields[] => {
    if (isOwnForeign(block)) return [block.value];
    if (encoding.own && block.type === 'refusal')
      return [overlay(bag.fields(block), { type: 'refusal', refusal: block.text })];
    if (encoding.own && block.type === 'reasoning') return [thoughtPart(block)];
    if (block.type !== 'text' && (block.type !== 'media' || (instructs && !encoding.own))) {
      encoding.lose(path, `a ${turn.role} message has no place for it`);
      return [];
    }
    return encodeParts(block, path, encoding);
  });
  const content = contentOf(parts, bag.form(turn), '\n\n', encoding);
  return overlay(bag.fields(turn), {
    role: roleOf(turn, encoding),
    name: turn.name,
    content: content ?? '',
    ...messageMark(turn.blocks),
  });
}

/** All texts of a message become one: a break is put between two that something else stood between, thoughts or a call. */
function withBreaks(placed: readonly Placed[]): Placed[] {
  let spoken = false;
  let apart = false;
  return placed.map(({ block, path }) => {
    if (block.type !== 'text') apart = spoken;
    if (block.type !== 'text' || block.text === '') return { block, path };
    const text = apart ? `\n\n${block.text}` : block.text;
    [spoken, apart] = [true, false];
    return { block: { ...block, text }, path };
  });
}

function encodeAssistant(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
  const spoken: Fields[] = [];
  const reasoning: ReasoningBlock[] = [];
  const calls: Fields[] = [];
  const images: Fields[] = [];
  const fields: Record<string, unknown> = {};
  for (const { block, path } of placed) {
    if (block.type === 'text') {
      for (const part of encodeParts(block, path, encoding)) spoken.push(part);
    } else if (block.type === 'reasoning') {
      if (isPart(block) && takesThinkingParts(encoding.model)) spoken.push(thoughtPart(block));
      else if (!isPart(block) && isReplayable(block, encoding)) reasoning.push(block);
      else encoding.lose(path, 'reasoning is only given back to the vendor it came from', 'state');
    } else if (block.type === 'refusal') {
      if (refuses(encoding.model, 'refusal')) spoken.push({ type: 'text', text: block.text });
      else if (bag.form(block).includes('field') || (!encoding.own && encoding.extras))
        fields.refusal = block.text;
      else
        spoken.push(
          encoding.own
            ? overlay(bag.fields(block), { type: 'refusal', refusal: block.text })
            : { type: 'text', text: block.text },
        );
    } else if (block.type === 'tool-call') {
      if (bag.form(block).includes('function'))
        fields.function_call = overlay(bag.fields(block), { name: block.name, arguments: block.arguments });
      else calls.push(encodeCall({ block, path }, encoding));
    } else if (block.type === 'media') {
      if (isMade(block, encoding)) images.push(encodeMade({ block, path }, encoding));
    } else if (isOwnForeign(block)) {
      (bag.form(block).includes(wholeCall) ? calls : spoken).push(block.value);
    } else {
      encoding.lose(path, 'an assistant message has no place for it');
    }
  }
  const form = bag.form(turn);
  const empty = calls.length > 0 || Object.keys(fields).length > 0 || bag.fields(turn).audio ? null : '';
  const content = contentOf(spoken, form, '', encoding) ?? (form.includes('no-content') ? undefined : empty);
  return overlay(bag.fields(turn), {
    role: 'assistant',
    name: turn.name,
    content,
    ...writeReasoning(reasoning),
    ...fields,
    images: images.length > 0 ? images : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...messageMark(turn.blocks),
  });
}

/** Whether a thing is of a kind that was not known to this protocol, which restores it. */
function isOwnForeign(block: Block): block is Extract<Block, { type: 'foreign' }> & { value: Fields } {
  return block.type === 'foreign' && block.protocol === protocolName && isObject(block.value);
}

function isPart(block: ReasoningBlock): boolean {
  return bag.form(block).includes(thinkingForm);
}

function thoughtPart(block: ReasoningBlock): Fields {
  return overlay(bag.fields(block), { type: 'thinking', thinking: [{ type: 'text', text: block.text }] });
}

/** Whether a picture goes back in the field that this protocol read it from. */
function isMade(block: Media, { own, model }: Encoding): boolean {
  return own && bag.form(block).includes(madePicture) && !refusesExtensions(model);
}

function encodeMade({ block, path }: Placed<Media>, encoding: Encoding): Fields {
  return overlay(bag.fields(block), {
    type: 'image_url',
    image_url: { url: writeUrl(block, bag.form(block)), detail: block.detail },
    ...encodeSeals(block.opaque, path, encoding),
  });
}

/** What a model showed is shown to it again, by the user. */
function encodeShown(placed: readonly Placed[], encoding: Encoding): Fields[] {
  const media = placed.flatMap(({ block, path }) =>
    block.type === 'media' && !isMade(block, encoding) ? [{ block, path }] : [],
  );
  for (const { path } of media) encoding.lose(path, 'sent as if the user showed it', 'approximated');
  const parts = media.flatMap(({ block, path }) => encodeParts(block, path, encoding));
  return parts.length > 0 ? [{ type: 'text', text: 'What the assistant showed:' }, ...parts] : [];
}

/** What the vendor of the model sealed, in the slot Google's chat layer has for it. */
function encodeSeals(opaque: ToolCall['opaque'] = [], path: string, { owner, lose }: Encoding): Fields {
  const kept = opaque.filter(({ vendor }) => vendor === owner || vendor === '');
  if (kept.length < opaque.length)
    lose(`${path}.opaque`, 'sealed state is only given back to the vendor it came from', 'state');
  return kept.length > 0
    ? {
        extra_content: Object.fromEntries(
          kept.map(({ vendor, value }) => [vendor, { thought_signature: value }]),
        ),
      }
    : {};
}

/** A call's id as the model takes it. One of this protocol's own client stays as it is, where the model takes any. */
function callIdOf(id: string, { own, model: { capabilities } }: Encoding): string {
  return own && chatFlags(capabilities).callIds === 'any' ? id : fitCallId(id, capabilities);
}

/** Whether reasoning can be given to this model again: sealed state goes to its own vendor alone, and what came unsealed from another protocol to nobody, since its vendor is not known. */
function isReplayable(block: ReasoningBlock, { owner, model }: Encoding): boolean {
  const { opaque = [] } = block;
  if (refusesExtensions(model)) return false;
  const fits = opaque.every(({ vendor }) => vendor === owner || vendor === '');
  return fits && (bag.form(block).length > 0 || opaque.some(({ vendor }) => vendor === owner));
}

function encodeCall({ block, path }: Placed<ToolCall>, encoding: Encoding): Fields {
  const { own, extras, lose } = encoding;
  const { arguments: text, custom, namespace } = block;
  const id = callIdOf(block.id, encoding);
  const name = own ? block.name : fitName(block.name);
  if (namespace !== undefined) lose(`${path}.namespace`, 'chat-completions has no namespaces for tools');
  if (block.cache && !isForeign(block)) lose(`${path}.cache`, 'chat-completions has no cache marks on calls');
  const extra = { ...encodeSeals(block.opaque, path, encoding), ...ownMark(block) };
  if (custom && (own || extras))
    return overlay(bag.fields(block), { id, type: 'custom', custom: { name, input: text }, ...extra });
  return overlay(bag.fields(block), {
    id,
    type: 'function',
    function: { name, arguments: custom ? wrapInput(text) : own ? text : text || '{}' },
    ...extra,
  });
}
