/**
 * Compaction: an item that replaces the conversation before it, and that only its maker can read.
 * OpenAI and Azure make such items themselves. For any other model the gateway asks for a summary, seals it
 * for the account, and gives it back to a model as a message.
 */
import {
  GatewayError,
  type Block,
  type BlockOf,
  type CanonicalEvent,
  type CanonicalRequest,
  type ErrorCode,
  type EventOf,
  type Host,
  type Operation,
  type Routed,
  type Target,
  type Turn,
} from '../../../core/index.ts';
import { isSealedText, type KeyRing } from '../../shared/key-ring.ts';
import { refuse } from '../../shared/wire-kit/losses.ts';
import { readObjects, readText } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import type { ReadRequest } from './call.ts';
import { bag, protocolName, readFlags } from './encoding.ts';

export const itemType = 'compaction';
const triggerType = 'compaction_trigger';

/** Whether the gateway made the item, and not the vendor. */
export function isOwnItem({ type, encrypted_content: content }: Fields): boolean {
  return type === itemType && typeof content === 'string' && isSealedText(content);
}

/** A compaction that has begun: its content follows. */
export function isOpenItem({ type, encrypted_content: content }: Fields): boolean {
  return type === itemType && content === undefined;
}

export function isTrigger(item: Fields | undefined): boolean {
  return item?.type === triggerType;
}

/** Whether the target makes and reads compactions of its own. */
function isNative({ protocol, model }: Target): boolean {
  return protocol.name === protocolName && readFlags(model.capabilities).compaction;
}

/** What a call of this protocol says of compaction. */
export interface CompactionFacts {
  /** What asks for one: the last item of the input, or the path of the call. */
  readonly ask: 'item' | 'path' | undefined;
  /** Whether the input holds compactions that the gateway made, or a vendor. */
  readonly holdsOwn: boolean;
  readonly holdsVendors: boolean;
}

/** To open one takes about as long as to read a short request. */
const mostOwn = 100;

export function readCompaction(
  { wire, items }: Pick<ReadRequest, 'wire' | 'items'>,
  operation: Operation,
): CompactionFacts {
  if (operation === 'compact' && wire.stream)
    throw buildFieldError('stream', 'is true', 'false: a compaction is not streamed');
  const own = items.flatMap(({ item }, index) => (isOwnItem(item) ? [index] : []));
  if (own.length > mostOwn)
    throw buildFieldError(`input[${own[mostOwn]}]`, `is one compaction more than ${mostOwn}`, 'the last one');
  const asked = operation === 'compact' ? 'path' : isTrigger(items.at(-1)?.item) && 'item';
  return {
    ask: (operation !== 'count' && asked) || undefined,
    holdsOwn: own.length > 0,
    holdsVendors: items.some(({ item }) => item.type === itemType && !isOwnItem(item)),
  };
}

/** The facts of an exchange; undefined if it is a call of another protocol. */
type FindFacts = (exchange: Routed) => CompactionFacts | undefined;

const purpose = 'compaction';

/**
 * Taps the hooks of plugins, so that compaction works with any provider, hook and meter. Other taps see what
 * is sent to the model, and what it says.
 */
export function tapCompaction({ hooks }: Pick<Host, 'hooks'>, getRing: () => KeyRing, find: FindFacts): void {
  const isEmulated = (exchange: Routed): boolean =>
    find(exchange)?.ask !== undefined && !isNative(exchange.attempt.target);
  hooks.transformRequest.tapPromise(
    {
      name: purpose,
      stage: -100,
      when(exchange) {
        const facts = find(exchange);
        if (!facts) return false;
        const { ask, holdsOwn, holdsVendors } = facts;
        return holdsOwn || ((ask !== undefined || holdsVendors) && !isNative(exchange.attempt.target));
      },
    },
    async (request, exchange) => {
      const open = createOpener(exchange, getRing());
      const turns = request.turns.map((turn) => openTurn(turn, isNative(exchange.attempt.target), open));
      const opened = { ...request, turns };
      return isEmulated(exchange) ? askForSummary(opened) : opened;
    },
  );
  hooks.transformStream.tap({ name: purpose, stage: 100, when: isEmulated }, (events, exchange) =>
    packSummary(events, exchange, getRing()),
  );
}

const introduction = 'A summary of the conversation so far follows. It replaces the messages themselves.';

/** Returns the function that opens an item. It throws an error that names the item's field. */
function createOpener(
  { attempt, principal, preview }: Routed,
  ring: KeyRing,
): (item: Fields, at: string) => string {
  return (item, at) => {
    const field = `${at}.encrypted_content`;
    if (!isOwnItem(item))
      return refuse(
        field,
        `"${field}" is a compaction of another provider, which the provider of ${attempt.target.model.id} ` +
          'cannot read: compact the conversation with this model, or stay with the one that made it.',
      );
    // Operators see what would be sent, but not what clients say.
    if (preview) return introduction;
    const summary = ring.openText(purpose, principal.account, readText(item.encrypted_content));
    if (summary) return `${introduction}\n\n${summary.toString()}`;
    throw buildFieldError(
      field,
      'cannot be opened: this gateway did not make it for this account, or no longer has the key',
      'the messages that it replaced',
    );
  };
}

type Foreign = BlockOf<'foreign'>;

/** The turn with texts in place of compactions, except those that the target reads itself. */
function openTurn(turn: Turn, isNative: boolean, open: (item: Fields, at: string) => string): Turn {
  const isClosed = (block: Block): block is Foreign =>
    block.type === 'foreign' && block.value.type === itemType && (isOwnItem(block.value) || !isNative);
  if (!turn.blocks.some(isClosed)) return turn;
  const blocks = turn.blocks.map((block): Block => {
    if (!isClosed(block)) return block;
    const { value, at = 'input' } = block;
    return { type: 'text', text: open(value, at), at };
  });
  return { ...turn, blocks };
}

const instruction = `\
Your context is about to be cleared. Afterwards you continue this conversation from a summary alone, which \
you write now. Write it for yourself, in plain text, as long as it has to be and no longer.

Keep, with every name, path, command, number and identifier exactly as it is:
- what the user asked for, what the user decided, and which limits the user set;
- what was done and found, which files were read or changed and how, and what failed and why;
- what is under way, what is still to do, and the very next step.

Leave out what no longer matters. Call no tools, ask nothing, and write nothing but the summary.`;

/** The conversation, with a request for its summary. Vendors demand the tools of earlier calls. */
function askForSummary(request: CanonicalRequest): CanonicalRequest {
  const { turns, tools: offered, vendor: _vendor, ...rest } = request;
  const {
    format: _format,
    verbosity: _verbosity,
    toolChoice: _choice,
    logprobs: _logprobs,
    ...settings
  } = rest;
  const { text: _text, tool_choice: _named, max_tool_calls: _most, ...own } = bag.getFields(request);
  const last = turns.at(-1);
  const [block] = last?.blocks ?? [];
  const at = block?.type === 'foreign' && isTrigger(block.value) ? last?.at : undefined;
  const asking: Turn = { role: 'user', blocks: [{ type: 'text', text: instruction, at }], at };
  const tools = offered?.filter(({ type }) => type !== 'hosted') ?? [];
  return {
    ...settings,
    ...bag.keep(own),
    turns: [...(at === undefined ? turns : turns.slice(0, -1)), asking],
    ...(tools.length > 0 ? { tools, toolChoice: { mode: 'none' } } : {}),
  };
}

/** The events of a summary as those of one compaction item, which begins with the model's first word. */
async function* packSummary(
  events: AsyncIterable<CanonicalEvent>,
  exchange: Routed,
  ring: KeyRing,
): AsyncGenerator<CanonicalEvent> {
  const place = { candidate: 0, block: 0 };
  const texts = new Set<number>();
  const pieces: string[] = [];
  let hasBegun = false;
  for await (const event of events) {
    if (event.type === 'block-start') {
      if (event.kind === 'text') texts.add(event.block);
      if (!hasBegun)
        yield {
          type: 'block-start',
          ...place,
          kind: 'server-tool',
          ...bag.keep({ item: { type: itemType } }),
        };
      hasBegun = true;
    } else if (event.type === 'block-delta') {
      if (texts.has(event.block)) pieces.push(event.text);
    } else if (event.type === 'finish') {
      const summary = pieces.join('').trim();
      checkSummary(summary, event.reason, exchange);
      const sealed = ring.sealText(purpose, exchange.principal.account, Buffer.from(summary));
      yield { type: 'block-delta', ...place, text: sealed };
      yield { type: 'block-end', ...place };
      yield event;
    } else if (!('block' in event) && event.type !== 'partial-image') yield event;
  }
}

/** The caller pays for it: the model has done the work. */
function refuseSummary(code: ErrorCode, message: string, param?: string): never {
  throw new GatewayError(code, message, { param, charge: true });
}

/** Throws if the summary is not whole. */
function checkSummary(
  summary: string,
  { unified }: EventOf<'finish'>['reason'],
  { call: { outputLimit }, grant }: Routed,
): void {
  if (unified === 'length' || unified === 'context-length') {
    const isGranted = grant.outputLimit !== undefined && grant.outputLimit < (outputLimit ?? Infinity);
    const stated = outputLimit === undefined ? 'choose a model that may write more' : 'raise that limit';
    refuseSummary(
      'invalid_request',
      'The summary of the conversation reached the output limit before it was complete: ' +
        `${isGranted ? 'the credit allows for no longer one' : stated}.`,
      outputLimit === undefined ? undefined : 'max_output_tokens',
    );
  }
  if (unified === 'refusal' || unified === 'content-filter')
    refuseSummary('content_policy_violation', 'The model refused to summarise the conversation.');
  if (unified !== 'stop' || summary === '')
    refuseSummary('upstream_failed', 'The model ended its turn without a summary of the conversation.');
}

/** The user's messages, which OpenAI returns in front of a compaction, each with an id. */
export function listUserMessages(input: unknown, makeId: (index: number) => string): Fields[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : readObjects(input);
  return items
    .filter(({ type, role }) => (type ?? 'message') === 'message' && role === 'user')
    .map(({ id, content, ...rest }, index) => ({
      ...rest,
      id: id ?? makeId(index),
      type: 'message',
      status: 'completed',
      content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
    }));
}
