/**
 * What workers report to each other: a target that one of them finds full, barred or failing rests in all of
 * them, so that each worker need not discover it. Each worker discovers a recovery by its own calls.
 */
import { z } from 'zod';
import { errorTable, GatewayError, type ErrorCode, type Host, type Workers } from '../../../core/index.ts';
import type { Named } from '../../shared/routing/per-target.ts';
import type { Rest } from './book.ts';

const topic = 'health';

const codes = Object.keys(errorTable).filter((code): code is ErrorCode => code in errorTable);

const newsSchema = z.object({
  provider: z.string(),
  credential: z.number().optional(),
  model: z.string(),
  milliseconds: z.number(),
  code: z.enum(codes),
  message: z.string(),
});

export function passOn(
  workers: Workers,
  { provider: { name, credential }, model }: Named,
  milliseconds: number,
  { code, message }: GatewayError,
): void {
  if (!workers.several) return;
  const news: z.output<typeof newsSchema> = {
    provider: name,
    credential,
    model: model.id,
    milliseconds,
    code,
    message,
  };
  workers.notify(topic, news);
}

/**
 * Calls `rest` for each target that another worker says should rest. The returned function stops listening.
 */
export function hear({ workers, catalog }: Pick<Host, 'workers' | 'catalog'>, rest: Rest): () => void {
  return workers.answer(topic, (news) => {
    const { provider, credential, model, milliseconds, code, message } = newsSchema.parse(news);
    const target = catalog
      .find(model)
      .find((offer) => offer.provider.name === provider && offer.provider.credential === credential);
    if (target) rest(target, milliseconds, new GatewayError(code, message));
  });
}
