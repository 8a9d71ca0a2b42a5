/**
 * Calls as forms of the playground, for protocols of which the pages know nothing: the example of a body, as
 * the protocol's description has it, says which fields there are.
 */
import type { Host, Protocol } from '../../../core/index.ts';
import type { CallForm } from '../../shared/replies/call-form.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';

async function describeForm({ name, makes = 'text', client, describeCalls }: Protocol): Promise<CallForm[]> {
  for (const { method, path, body, replies } of (await describeCalls?.()) ?? []) {
    const called = path.replace('{model}', 'owner/model');
    if (client.match(method, called, '')?.operation !== 'generate') continue;
    const [example] = readObjects(body?.['application/json']?.meta()?.['examples']);
    const streams = replies[200]?.['text/event-stream'] !== undefined;
    if (example) return [{ protocol: name, makes, path, example, streams }];
  }
  return [];
}

/** The forms in the order of the protocols, which are all known before the first page is asked for. */
export function createFormList({ protocols }: Pick<Host, 'protocols'>): () => Promise<readonly CallForm[]> {
  let known: Promise<readonly CallForm[]> | undefined;
  return () => (known ??= Promise.all([...protocols.list()].map(describeForm)).then((forms) => forms.flat()));
}
