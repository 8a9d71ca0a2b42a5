/** Reads a client's request, and collects the facts that routing and billing need. */
import type { Edit, Retarget } from '../../../core/index.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels } from '../../shared/wire-kit/read-call.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest, usualLimit } from './request.ts';
import * as Wire from './wire.ts';

function checkTogether({
  stream,
  stream_options: options,
  n,
  best_of: best,
  suffix,
  prompt,
}: Wire.Request): void {
  if (options && !stream)
    throw buildFieldError('stream_options', 'is only for streams', '"stream": true with it, or leave it out');
  if (best && best < (n ?? 1)) throw buildFieldError('best_of', 'is less than "n"', 'at least as many');
  if (best && stream && best > (n ?? 1))
    throw buildFieldError('best_of', 'cannot be streamed', '"stream": false with it');
  if (typeof suffix === 'string' && suffix !== '' && typeof prompt !== 'string')
    throw buildFieldError('suffix', 'belongs to one text', 'a text as "prompt" with it');
}

export class CompletionCall extends ReadCall {
  /** Whether the body has the gateway's own field `provider`. */
  readonly statesProvider: boolean;

  constructor(wire: Wire.Request, text: string) {
    const prompts = Wire.readPrompts(wire.prompt) ?? [];
    const each = Math.max(wire.n ?? 1, wire.best_of ?? 1);
    super(
      {
        model: wire.model,
        stream: wire.stream ?? false,
        outputLimit: wire.max_tokens ?? usualLimit,
        // All of `best_of` are billed.
        candidates: each * prompts.length,
        framing: 'events',
        usageWanted: wire.stream_options?.include_usage ?? false,
        size: {
          textBytes: Buffer.byteLength(text),
          images: 0,
          mediaBytes: 0,
          items: prompts.length,
        },
        preferences: readPreferences(wire.provider),
        carriesState: false,
        labels: readLabels(wire),
        defaulted: wire.max_tokens === undefined || wire.max_tokens === null ? ['max_tokens'] : [],
      },
      () => decodeRequest(wire),
    );
    this.statesProvider = wire.provider !== undefined;
  }
}

/** Throws `invalid_request` with the name of the field. */
export function readRequest(body: unknown, text: string): CompletionCall {
  const wire = checkWire(Wire.request, body);
  checkTogether(wire);
  return new CompletionCall(wire, text);
}

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [{ path: ['model'], value: model }];
  if (!(call instanceof CompletionCall) || call.statesProvider)
    edits.push({ path: ['provider'], value: undefined });
  if (call.stream && !call.usageWanted)
    edits.push({ path: ['stream_options', 'include_usage'], value: true });
  // Vendors' own limits differ, so the usual one is stated.
  const limit = outputLimit ?? call.outputLimit;
  if (limit !== undefined) edits.push({ path: ['max_tokens'], value: limit });
  return edits;
}
