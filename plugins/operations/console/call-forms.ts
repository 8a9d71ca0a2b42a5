/**
 * Calls as forms of the playground, for protocols of which the pages know nothing: the example of a body, as
 * the protocol's description has it, says which fields there are.
 */
import type { Host, Protocol } from '../../../core/index.ts';
import type { CallForm } from '../../shared/replies/call-form.ts';

function isFields(value: unknown): value is CallForm['example'] {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function describeForm({ name, makes = 'text', client, describeCalls }: Protocol): Promise<CallForm[]> {
  for (const { method, path, body, replies } of (await describeCalls?.()) ?? []) {
    const called = path.replace('{model}', 'owner/model');
    if (client.match(method, called, '')?.operation !== 'generate') continue;
    const examples: unknown = body?.['application/json']?.meta()?.['examples'];
    const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
    const streams = replies[200]?.['text/event-stream'] !== undefined;
    if (isFields(example)) return [{ protocol: name, makes, path, example, streams }];
  }
  return [];
}

/** The forms in the order of the protocols, which are all known before the first page is asked for. */
export function createFormList({ protocols }: Pick<Host, 'protocols'>): () => Promise<readonly CallForm[]> {
  let known: Promise<readonly CallForm[]> | undefined;
  return () => (known ??= Promise.all([...protocols.list()].map(describeForm)).then((forms) => forms.flat()));
}
