/** Which fields a provider refuses: some answer any field that they do not know with an error. */
import type { Model } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';

/** Whether the provider refuses a request with this field, in its body or in a message. */
export function refuses({ capabilities }: Pick<Model, 'capabilities'>, field: string): boolean {
  return chatFlags(capabilities).fields[field] === null;
}
