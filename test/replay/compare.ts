import { findCount } from '../../core/index.ts';
/** How a replayed exchange differs from its recording, by class. */
import { isObject } from '../support/json.ts';
import { hear, readMessages, toObject, parseOrKeep, toText, type Heard } from './heard.ts';
import { isTextProtocol, type RecordedProtocol } from './recordings.ts';
import type { ReplyCheck } from './reply-schemas.ts';
import type { Outcome, Trial } from './stage.ts';

export type DifferenceClass =
  | 'refused'
  | 'failed'
  | 'status-differs'
  | 'error-shape'
  | 'error-differs'
  | 'lost-error'
  | 'request-differs'
  | 'bytes-differ'
  | 'pieces-differ'
  | 'lost-text'
  | 'lost-reasoning'
  | 'calls-differ'
  | 'lost-image'
  | 'finish-differs'
  | 'usage-differs'
  | 'billed-differs'
  | 'schema-violation';

export interface Difference {
  readonly class: DifferenceClass;
  readonly recording: string;
  readonly protocol: RecordedProtocol;
  readonly client: RecordedProtocol;
  readonly detail: string;
}

type Found = Pick<Difference, 'class' | 'detail'>;

const formatValue = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 160);

/** The gateway puts its own name of the model everywhere. */
function redactModel(text: string): string {
  return text.replaceAll(/("model(?:Version)?"\s*:\s*)"(?:[^"\\]|\\.)*"/g, '$1"M"');
}

function describeDifference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return `at ${at}: ${formatValue(one.slice(at, at + 60))} became ${formatValue(other.slice(at, at + 60))}`;
}

/** The names of the fields, at the top, that are not alike. */
function nameDifferences(one: string, other: string): string {
  const [before, after] = [toObject(parseOrKeep(one)), toObject(parseOrKeep(other))];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    names
      .filter((name) => name !== 'model' && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .join(', ') || 'order or spaces'
  );
}

/** Between a client and a vendor of one protocol, only the model's name may differ. */
function compareVerbatim({ recording }: Trial, { text, sent, received }: Outcome): Found[] {
  const found: Found[] = [];
  if (received !== undefined && redactModel(sent) !== redactModel(received))
    found.push({ class: 'request-differs', detail: nameDifferences(sent, received) });
  const recorded = redactModel(recording.reply.toString());
  const replied = redactModel(text);
  if (recording.status >= 400) {
    const [before, after] = [
      toObject(toObject(parseOrKeep(recorded)).error),
      toObject(toObject(parseOrKeep(replied)).error),
    ];
    const changed = Object.keys(before).filter(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
    );
    for (const name of changed)
      found.push({
        class: 'error-differs',
        detail: `${name}: ${formatValue(before[name])} became ${formatValue(after[name])}`,
      });
  } else if (recorded !== replied) {
    found.push({ class: 'bytes-differ', detail: describeDifference(recorded, replied) });
  }
  return found;
}

function compareHeard(before: Heard, after: Heard): Found[] {
  const found: Found[] = [];
  const add = (name: DifferenceClass, one: unknown, other: unknown): void => {
    if (JSON.stringify(one) !== JSON.stringify(other))
      found.push({ class: name, detail: `${formatValue(one)} became ${formatValue(other)}` });
  };
  if (before.error) {
    if (!after.error) add('lost-error', 'an error in the reply', 'none');
    return found;
  }
  add('lost-text', before.text, after.text);
  add('lost-reasoning', before.reasoning, after.reasoning);
  add('calls-differ', before.calls, after.calls);
  add('lost-image', before.images, after.images);
  add('finish-differs', before.finish, after.finish);
  if (before.input !== undefined)
    add('usage-differs', [before.input, before.output], [after.input, after.output]);
  return found;
}

/** What the ledger books, where the vendor gave figures and the reply is whole. */
function compareBilled(before: Heard, { end }: Outcome): Found[] {
  if (before.input === undefined || before.error || !('charge' in end)) return [];
  const { uses, basis } = end.charge;
  const [billed, reported] = [
    [findCount(uses, 'input'), findCount(uses, 'output')],
    [before.input, before.output],
  ];
  if (JSON.stringify(billed) === JSON.stringify(reported) && basis === 'usage') return [];
  return [
    {
      class: 'billed-differs',
      detail: `${formatValue(reported)} was booked as ${formatValue(billed)} by ${basis}`,
    },
  ];
}

function hasErrorShape(client: RecordedProtocol, text: string): boolean {
  const body = parseOrKeep(text);
  const error = toObject(toObject(body).error);
  if (toText(error.message) === '') return false;
  if (client === 'messages') return toObject(body).type === 'error' && typeof error.type === 'string';
  return client === 'generate-content'
    ? typeof error.code === 'number' && typeof error.status === 'string'
    : typeof error.type === 'string';
}

function compareFailure({ recording: { status }, client }: Trial, outcome: Outcome): Found[] {
  const found: Found[] = [];
  if (outcome.status !== status)
    found.push({ class: 'status-differs', detail: `${status} became ${outcome.status}` });
  if (!hasErrorShape(client, outcome.text))
    found.push({ class: 'error-shape', detail: formatValue(outcome.text) });
  return found;
}

/** Everything in which a trial's outcome is not what was recorded. */
export function compare(trial: Trial, outcome: Outcome, check: ReplyCheck): Difference[] {
  const { recording, client } = trial;
  const { name, protocol, status, streamed, operation } = recording;
  const nameTrial = (found: readonly Found[]): Difference[] =>
    found.map((each) => ({ ...each, recording: name, protocol, client }));
  const own = client === protocol;
  const recorded =
    isTextProtocol(protocol) && operation === 'generate' && status < 400
      ? hear(protocol, recording.reply.toString(), streamed)
      : undefined;
  if (status >= 400) {
    const found = compareFailure(trial, outcome);
    // Where the gateway refuses the request itself, the words are its own.
    return nameTrial(
      own && outcome.received !== undefined ? [...found, ...compareVerbatim(trial, outcome)] : found,
    );
  }
  if (outcome.received === undefined)
    return nameTrial([{ class: 'refused', detail: `${outcome.status} ${outcome.text.slice(0, 200)}` }]);
  // An error that comes before any output is one of HTTP, so that clients try again.
  const silent = recorded?.error && recorded.text + recorded.reasoning === '' && recorded.calls.length === 0;
  if (silent && outcome.status >= 500 && hasErrorShape(client, outcome.text)) return [];
  if (outcome.status !== status)
    return nameTrial([{ class: 'failed', detail: `${outcome.status} ${outcome.text.slice(0, 200)}` }]);
  const found = own ? compareVerbatim(trial, outcome) : [];
  if (recorded) found.push(...compareBilled(recorded, outcome));
  if (recorded && !own && isTextProtocol(client)) {
    found.push(...compareHeard(recorded, hear(client, outcome.text, streamed)));
    for (const message of readMessages(outcome.text, streamed)) {
      const fault = isObject(message.error) ? undefined : check(client, streamed, message);
      if (fault !== undefined) found.push({ class: 'schema-violation', detail: fault });
    }
  }
  return nameTrial(found);
}
