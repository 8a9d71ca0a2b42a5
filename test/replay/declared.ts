/** Differences that are known and right, each with its reason. Everything else fails `npm run replay`. */
import type { Difference, DifferenceClass } from './compare.ts';
import type { RecordedProtocol } from './recordings.ts';

export interface Declared {
  readonly class: DifferenceClass;
  /** Of recordings of this protocol; of all where it is absent. */
  readonly protocol?: RecordedProtocol;
  /** Through a client of this protocol; of all where it is absent. */
  readonly client?: RecordedProtocol;
  /** What the detail has to say. */
  readonly detail?: RegExp;
  readonly reason: string;
}

export const declared: readonly Declared[] = [
  {
    class: 'request-differs',
    protocol: 'chat-completions',
    detail: /^stream_options$/,
    reason: 'a stream is billed by its last figures, so the gateway asks for them where the client does not',
  },
  {
    class: 'request-differs',
    protocol: 'images',
    detail: /^order or spaces$/,
    reason: 'requests for images are checked and written again',
  },
  {
    class: 'request-differs',
    protocol: 'images',
    detail: /^quality$/,
    reason: 'a call without a quality is sent with "auto", which is the default',
  },
  {
    class: 'bytes-differ',
    protocol: 'images',
    reason: 'replies with images are written again: fields of the interface, in its order',
  },
  {
    class: 'bytes-differ',
    protocol: 'responses',
    detail: /: "" became "data: \[DONE\]/,
    reason: 'the interface ends each stream with [DONE], which OpenAI leaves out on this protocol',
  },
  {
    class: 'bytes-differ',
    protocol: 'chat-completions',
    detail: /became "(event: error|(data: \{\\")?error\\":\{|,\\"param\\":null)/,
    reason: 'an error within a stream ends it in one form: an event that holds the error alone',
  },
  {
    class: 'status-differs',
    detail: /^401 became 50[23]$/,
    reason: "the vendor refused the gateway's own key, which is not the client's fault",
  },
  {
    class: 'error-differs',
    detail: /became "(The provider could not take this call\.|upstream_error|server_error)"$/,
    reason: "the vendor refused the gateway's own key: its words are for the operator",
  },
  {
    class: 'error-differs',
    detail: /^message: .* became "The provider does not serve this model at present\."$/,
    reason: 'the client knows the model by another name than the vendor',
  },
  {
    class: 'error-differs',
    detail: /recorded\/\d+/,
    reason: "the gateway's name of the model stands in place of the vendor's",
  },
  {
    class: 'error-differs',
    detail: /^message: .*quota.* became "The provider takes no more calls at the moment/,
    reason: "the quota is that of the gateway's own account at the vendor",
  },
  {
    class: 'refused',
    detail: /has no such tool/,
    reason:
      'the request has a hosted tool, and the recorded vendor has it only in its own form ' +
      'on its own protocol',
  },
  {
    class: 'refused',
    protocol: 'generate-content',
    detail: /a conversation without content/,
    reason: 'Google accepts a request whose only text is empty; clients of other protocols get a clear 400',
  },
  {
    class: 'lost-image',
    client: 'messages',
    reason: 'a reply of the messages protocol cannot hold a picture',
  },
  {
    class: 'calls-differ',
    client: 'generate-content',
    detail: /"_raw"/,
    reason:
      'arguments that break off are no JSON object; this protocol has only objects, ' +
      'so they stand as text under `_raw`',
  },
  {
    class: 'finish-differs',
    protocol: 'responses',
    detail: /^"stop" became "filter"$/,
    reason: 'OpenAI completes a refusal on this protocol; the others have a finish reason for it',
  },
  {
    class: 'billed-differs',
    client: 'chat-completions',
    detail: /by estimate$/,
    reason:
      'a client of another protocol cannot ask for the hosted search, ' +
      'so input beyond its request is not believed',
  },
  {
    class: 'usage-differs',
    client: 'chat-completions',
    detail: /^\[\d{4,},(\d+)\] became \[\d{1,3},\1\]$/,
    reason: 'the client reads what it is charged, and that is not the input of a search it cannot ask for',
  },
  {
    class: 'bytes-differ',
    protocol: 'generate-content',
    detail: /became "\\"promptTokenCount/,
    reason: 'Google reports no tokens of a blocked prompt; the client reads the estimate that it is charged',
  },
];

export function findDeclaration(difference: Difference): Declared | undefined {
  return declared.find(
    ({ class: name, protocol = difference.protocol, client = difference.client, detail = /(?:)/ }) => {
      return (
        name === difference.class &&
        protocol === difference.protocol &&
        client === difference.client &&
        detail.test(difference.detail)
      );
    },
  );
}
